# A server with the module.
#
#   docker build --tag redis-rank .
#   docker run --rm --publish 127.0.0.1:6379:6379 redis-rank
#
# On Alpine: Dockerfile.alpine. For Valkey: --build-arg SERVER=valkey/valkey:9, and valkey-server as the command.
ARG SERVER=redis:8

# Debian 12, so that the module runs with the C library of that release and of all later ones.
FROM rust:1-bookworm AS build
WORKDIR /src
COPY . .
RUN make build
RUN make install-strip DESTDIR=/stage

# The image's own entry point gives /data to the user redis, and starts the server as that user. Its servers have no
# password and no protected mode: publish the port to this machine alone, or set a password (see compose.yaml).
FROM ${SERVER} AS server
COPY --from=build /stage/usr/lib/redis/modules/ /usr/lib/redis/modules/
# hadolint ignore=DL3025
HEALTHCHECK --interval=5s --timeout=3s --retries=5 CMD redis-cli ping | grep -Eq 'PONG|NOAUTH'
CMD ["redis-server", "--loadmodule", "/usr/lib/redis/modules/libredis_rank.so"]

# The page of examples/arena, with the client of this repository.
FROM node:24-bookworm AS page
WORKDIR /src
COPY Cargo.toml Makefile ./
COPY scripts/setup.sh scripts/
COPY clients/javascript clients/javascript
COPY examples/arena examples/arena
RUN make page-setup
USER node
# hadolint ignore=DL3025
HEALTHCHECK --interval=5s --timeout=3s --retries=5 CMD node -e "fetch('http://127.0.0.1:8080/').then((page) => process.exit(page.ok ? 0 : 1), () => process.exit(1))"
CMD ["make", "page"]

# The default target of docker build.
FROM server AS default
