# syntax=docker/dockerfile:1
# One image per kind of process, with only the programs that its pool needs. Select an image with --target.

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Prevents onnxruntime-node from downloading GPU libraries from another registry.
ENV ONNXRUNTIME_NODE_INSTALL=skip
# The image contains Node, so the npm package "node" is removed.
# Does not use `npm ci`, which requires the optional packages of other systems; a registry mirror may lack them.
RUN npm install --omit=dev --no-save --no-audit --no-fund && rm -rf node_modules/node node_modules/.bin/node

FROM node:24-bookworm-slim AS base
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json package-lock.json ./
COPY schemas ./schemas
COPY store ./store
COPY egress ./egress
COPY workflows ./workflows
COPY activities ./activities
COPY workers ./workers
COPY api ./api
# Bundles the workflows at build time, so that starts are faster.
RUN node --input-type=module -e "import { loadWorkflowBundle } from '/app/workers/bundle.ts'; await loadWorkflowBundle((error) => { throw error; });" && \
    mkdir /data && chown node:node /data
USER node
STOPSIGNAL SIGTERM

FROM base AS api
# Pages of the documentation.
COPY docs ./docs
ENV PORT=8080 INTERNAL_PORT=9090
EXPOSE 8080
CMD ["node", "api/server.ts"]

FROM base AS orchestrator
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "orchestrator"]

FROM base AS gateway
ENV INTERNAL_PORT=9090
EXPOSE 3128 7233
CMD ["node", "workers/gateway/main.ts"]

# Issues the certificates for Temporal, once at each start.
FROM base AS certificates
CMD ["node", "workers/certificates/main.ts", "/certificates"]

FROM base AS delivery
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "delivery"]

FROM base AS cpu
# Fonts for watermark texts in any script.
USER root
RUN apt-get update && \
    apt-get install -y --no-install-recommends fontconfig fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji && \
    rm -rf /var/lib/apt/lists/*
USER node
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "cpu"]

FROM base AS network
# ping for ICMP; without it the ping tool measures TCP handshakes. The program is copied to drop its file capability, with
# which it cannot be executed in a container without capabilities. Docker lets every group open ICMP sockets, so ping needs
# no capability.
USER root
RUN apt-get update && apt-get install -y --no-install-recommends iputils-ping && rm -rf /var/lib/apt/lists/* && \
    cp /usr/bin/ping /usr/bin/ping.plain && mv /usr/bin/ping.plain /usr/bin/ping
USER node
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "network"]

FROM base AS heavy
# LibreOffice, its sandbox (bubblewrap), and fonts for documents: metric-compatible replacements for Microsoft's fonts, and
# fonts for all scripts.
USER root
RUN apt-get update && \
    apt-get install -y --no-install-recommends libreoffice-writer-nogui python3-uno bubblewrap fontconfig \
      fonts-crosextra-carlito fonts-crosextra-caladea fonts-liberation fonts-dejavu-core \
      fonts-noto-core fonts-noto-cjk fonts-symbola && \
    rm -rf /var/lib/apt/lists/*
USER node
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "heavy"]

FROM base AS browser
# Chromium, its sandbox, the filter lists for ads and trackers, and fonts for all scripts.
USER root
RUN apt-get update && \
    apt-get install -y --no-install-recommends chromium-headless-shell chromium-sandbox iproute2 webext-ublock-origin-chromium \
      fontconfig fonts-liberation fonts-dejavu-core fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji && \
    rm -rf /var/lib/apt/lists/*
USER node
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "browser"]
