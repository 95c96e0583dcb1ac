# A server with the module.
#
#   docker build --tag redis-rank .
#   docker run --rm --publish 127.0.0.1:6379:6379 redis-rank
#
# Every step is a make target or a copy, and tests/container.rs runs all of them without Docker: only the names of the
# images are taken on trust. For Valkey: --build-arg SERVER=valkey/valkey:9, and valkey-server as the command.
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
HEALTHCHECK --interval=5s --timeout=3s --retries=5 CMD redis-cli ping | grep -Eq 'PONG|NOAUTH'
CMD ["redis-server", "--loadmodule", "/usr/lib/redis/modules/libredis_rank.so"]
