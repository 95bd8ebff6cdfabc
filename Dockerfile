# syntax=docker/dockerfile:1

# The `rust-version` of Cargo.toml, taken as it is: an image is not the place to download a toolchain.
FROM rust:1.95.0-slim-bookworm AS rust

# Builds everything: this image has Python, make and a C++ compiler for sqlite3.
FROM node:22-bookworm AS build
COPY --from=rust /usr/local/rustup /usr/local/rustup
COPY --from=rust /usr/local/cargo /usr/local/cargo
ENV RUSTUP_HOME=/usr/local/rustup \
    CARGO_HOME=/usr/local/cargo \
    RUSTUP_TOOLCHAIN=1.95.0 \
    PATH=/usr/local/cargo/bin:$PATH
WORKDIR /build
# Packages change seldom and sqlite3 compiles for a minute: a layer of their own.
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund \
 && npm rebuild sqlite3 --ignore-scripts=false --foreground-scripts
COPY Cargo.toml Cargo.lock rust-toolchain.toml tsconfig.json tsconfig.build.json ./
COPY crates crates
COPY openapi openapi
COPY scripts scripts
COPY src src
RUN CI=true node scripts/build.mjs
# What only building needs goes: development packages, and the sources and objects of sqlite3.
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund \
 && rm -rf node_modules/sqlite3/deps node_modules/sqlite3/src \
           node_modules/sqlite3/build/Release/obj node_modules/sqlite3/build/Release/obj.target

FROM node:22-bookworm-slim
LABEL org.opencontainers.image.title="KithDB" \
      org.opencontainers.image.description="A vector database service: REST over a native Rust engine, durable by default." \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /app
COPY --from=build /build/package.json ./
COPY --from=build /build/node_modules node_modules
COPY --from=build /build/native native
COPY --from=build /build/dist dist
COPY bin bin
COPY LICENSE README.md ./
RUN mkdir -m 700 /data /backups && chown node:node /data /backups \
 && ln -s /app/bin/kithdb.js /usr/local/bin/kithdb
USER node
# An image listens on every address, so it starts with authentication enabled. Without an admin password
# (KITHDB_ADMIN_PASSWORD or KITHDB_ADMIN_PASSWORD_FILE) the first start makes one and prints it once.
ENV NODE_ENV=production \
    KITHDB_HOST=0.0.0.0 \
    KITHDB_PORT=6363 \
    KITHDB_DATA_DIR=/data \
    KITHDB_AUTH_ENABLED=true \
    KITHDB_GENERATE_ADMIN_PASSWORD=true
VOLUME /data
EXPOSE 6363
# Finds port and TLS as the server does, in the environment and the file of KITHDB_CONFIG. Flags of the command it cannot see.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --start-interval=1s --retries=3 \
  CMD ["node", "/app/bin/kithdb.js", "health"]
ENTRYPOINT ["node", "/app/bin/kithdb.js"]
CMD ["serve"]
