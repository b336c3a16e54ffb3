{{/* The release's name, unless it has that of the chart in it. */}}
{{- define "fahao.name" -}}
{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 50 | trimSuffix "-" }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "fahao.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "fahao.labels" -}}
{{ include "fahao.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* "yes" where the store is a file on a volume of the pod's own. */}}
{{- define "fahao.sqlite" -}}
{{- if and (not .Values.engine.secret.name) (hasPrefix "sqlite:" .Values.engine.url) }}yes{{ end }}
{{- end }}

{{/* A StatefulSet for what needs a volume or a name that stays; a fleet of equals needs neither. */}}
{{- define "fahao.workload" -}}
{{- if or (include "fahao.sqlite" .) .Values.cluster.name }}StatefulSet{{ else }}Deployment{{ end }}
{{- end }}

{{- define "fahao.refuse" -}}
{{- if not .Values.image }}{{ fail "image is empty: give the image of Fahao that your cluster can pull, such as --set image=REGISTRY/fahao:0.1.0" }}{{ end }}
{{- if and (include "fahao.sqlite" .) (gt (int .Values.replicas) 1) }}{{ fail "replicas is above 1 on SQLite, whose file one node alone may serve: give engine.url or engine.secret of a database or etcd" }}{{ end }}
{{- if and (include "fahao.sqlite" .) .Values.cluster.name }}{{ fail "cluster.name on SQLite: a cluster needs engine.url or engine.secret of a database or etcd" }}{{ end }}
{{- if and (include "fahao.sqlite" .) (not (hasPrefix "sqlite:/data/" .Values.engine.url)) }}{{ fail "engine.url is a file outside of /data, where the volume is: ids would repeat once the pod is gone" }}{{ end }}
{{- if regexMatch "://[^/?@]*:[^/?@]*@" .Values.engine.url }}{{ fail "engine.url has a password, which all who may read pods would see: put the URL into a secret, and name that in engine.secret" }}{{ end }}
{{- if or (regexMatch "(?m)^(mysql-proxy|compat-http):" .Values.config) (regexMatch "\"FAHAO_(MYSQL_PROXY|COMPAT_HTTP)\"" (toJson .Values.env)) }}{{ fail "mysql-proxy and compat-http have no port in this chart: it serves RESP, HTTP and PostgreSQL's protocol" }}{{ end }}
{{- end }}
