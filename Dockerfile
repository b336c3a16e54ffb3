# The image of Fahao: `docker build -t fahao .`. It has Node, the bundled server and the drivers of databases; it runs as the
# user 1000, and writes to /data alone, for which each installation names a volume.
#
# REGISTRY, with a slash at its end, is where both images come from; without it, the engine's own default. Any image with
# Node 24 and npm builds, and any image with glibc and libstdc++ runs: it needs no shell. The settings of npm, if the packages come
# from a registry of your own: `--secret id=npmrc,src=$HOME/.npmrc`.
ARG REGISTRY=
ARG BUILD_IMAGE=node:24-slim
ARG RUN_IMAGE=debian:trixie-slim

FROM ${REGISTRY}${BUILD_IMAGE} AS build
ENV NPM_CONFIG_USERCONFIG=/run/secrets/npmrc NPM_CONFIG_CACHE=/tmp/npm
WORKDIR /build
COPY package.json package-lock.json ./
COPY client/package.json client/
RUN --mount=type=secret,id=npmrc npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build && node scripts/image-root.ts /image && mkdir /data

FROM ${REGISTRY}${RUN_IMAGE}
COPY --from=build /image /
COPY --from=build --chown=1000:1000 /data /data
USER 1000:1000
WORKDIR /data
ENV NODE_ENV=production \
    FAHAO_ENGINE=sqlite:/data/fahao.db \
    FAHAO_RESP=0.0.0.0:7379 \
    FAHAO_HTTP=0.0.0.0:7380
EXPOSE 7379 7380
HEALTHCHECK --interval=10s --timeout=3s --start-period=40s \
  CMD ["node", "/opt/fahao/health.mjs"]
ENTRYPOINT ["node", "/opt/fahao/dist/fahao.js"]
CMD ["serve"]
