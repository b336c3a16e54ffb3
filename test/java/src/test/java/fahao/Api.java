package fahao;

import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;

/** Requests to the server under test, as Java's own client sends them: with an upgrade to HTTP/2 that is not taken. */
final class Api {
    private static final HttpClient CLIENT = HttpClient.newHttpClient();
    private static final String URL = System.getProperty("fahao.url");

    private Api() {
    }

    /** The answer; its status is 200 or 400. */
    static HttpResponse<String> send(String method, String path) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(URL + path))
            .method(method, HttpRequest.BodyPublishers.noBody())
            .build();
        try {
            HttpResponse<String> answer = CLIENT.send(request, HttpResponse.BodyHandlers.ofString());
            if (answer.statusCode() != 200 && answer.statusCode() != 400) {
                throw new IllegalStateException(method + " " + path + ": " + answer.statusCode() + " " + answer.body());
            }
            return answer;
        } catch (IOException | InterruptedException failure) {
            throw new IllegalStateException(failure);
        }
    }

    /** A name as a part of a path or a query. */
    static String encode(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** The value of a member of a flat JSON object. */
    static String member(String json, String name) {
        return json.replaceFirst("(?s).*\"" + name + "\":\"?([^\",}]*).*", "$1");
    }
}
