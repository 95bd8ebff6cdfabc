# syntax=docker/dockerfile:1

# The `rust-version` of Cargo.toml, taken as it is: an image is not the place to download a toolchain.
FROM rust:1.95.0-slim-bookworm AS rust

# Builds everything: this image has Python, make and a C++ compiler for sqlite3.
FROM node:22.23.3-bookworm AS build
COPY --from=rust /usr/local/rustup /usr/local/rustup
COPY --from=rust /usr/local/cargo /usr/local/cargo
ENV RUSTUP_HOME=/usr/local/rustup \
    CARGO_HOME=/usr/local/cargo \
    RUSTUP_TOOLCHAIN=1.95.0 \
    PATH=/usr/local/cargo/bin:$PATH
WORKDIR /build
# Packages change seldom and sqlite3 compiles for a minute: a layer of their own. Its install script would fetch a binary
# that nothing verifies; this script of it compiles, with the headers of Node that the image has.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund \
 && npm_config_nodedir=/usr/local npm --prefix node_modules/sqlite3 run rebuild
COPY Cargo.toml Cargo.lock rust-toolchain.toml tsconfig.json tsconfig.build.json ./
COPY crates crates
COPY openapi openapi
COPY scripts scripts
COPY src src
RUN CI=true node scripts/build.mjs \
 && cargo build --release --locked --package kithdb-health
# What only building needs goes: packages for development, those that are in the files of dist/, and the sources and objects
# of sqlite3. What is left is laid out as it will stand in the image, so that one layer has it.
RUN node scripts/package/image-manifest.mjs \
 && npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
 && find node_modules -maxdepth 1 -type d -empty -delete \
 && rm -rf node_modules/sqlite3/deps node_modules/sqlite3/src \
           node_modules/sqlite3/build/Release/obj node_modules/sqlite3/build/Release/obj.target \
 && mkdir -p /image/app /image/usr/local/bin \
 && mv package.json node_modules native dist /image/app/ \
 && cp /usr/local/bin/node target/release/kithdb-health /image/usr/local/bin/ \
 && cp /usr/local/LICENSE /image/app/LICENSE.node \
 && ln -s /app/bin/kithdb.js /image/usr/local/bin/kithdb \
 && install -d -m 700 -o 1000 -g 1000 /image/data /image/backups /image/certificates /image/checkpoints

# Node's own image has npm, yarn and headers too. Its binary needs nothing but the C and C++ libraries, which are here.
FROM debian:12.15-slim
# The release workflow adds version, revision and created.
LABEL org.opencontainers.image.title="KithDB" \
      org.opencontainers.image.description="A vector database service: REST over a native Rust engine, durable by default." \
      org.opencontainers.image.source="https://github.com/kithdb/kithdb" \
      org.opencontainers.image.documentation="https://github.com/kithdb/kithdb#readme" \
      org.opencontainers.image.vendor="KithDB" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.base.name="docker.io/library/debian:bookworm-slim"
COPY --from=build /image/ /
WORKDIR /app
COPY bin bin
COPY LICENSE README.md THIRD-PARTY-NOTICES ./
COPY crates/node/THIRD-PARTY-NOTICES native/
# The user has no entry in /etc/passwd: nothing asks for its name, and Kubernetes' runAsNonRoot needs its number.
USER 1000:1000
# An image listens on every address, so it starts with authentication enabled. Without an access token
# (KITHDB_ACCESS_TOKEN[_FILE]) and without an admin password (KITHDB_ADMIN_PASSWORD[_FILE]) the first start makes a
# password and prints it once.
ENV NODE_ENV=production \
    HOME=/tmp \
    KITHDB_HOST=0.0.0.0 \
    KITHDB_PORT=6363 \
    KITHDB_DATA_DIR=/data \
    KITHDB_AUTH_ENABLED=true \
    KITHDB_GENERATE_ADMIN_PASSWORD=true
VOLUME /data
# 6364 is for other nodes of a cluster.
EXPOSE 6363 6364
STOPSIGNAL SIGTERM
# Asks through the socket in the data directory, so it needs neither the port nor TLS, and starts no Node.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --start-interval=1s --retries=3 \
  CMD ["kithdb-health"]
ENTRYPOINT ["node", "/app/bin/kithdb.js"]
CMD ["serve"]
