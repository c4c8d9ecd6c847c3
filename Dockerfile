# syntax=docker/dockerfile:1
# One image per kind of process; each holds what its pool needs and no more. Build one with --target.

FROM node:24-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
# Else onnxruntime-node fetches GPU libraries from another registry.
ENV ONNXRUNTIME_NODE_INSTALL=skip
# The image brings its own Node, so the package that brings one to bare machines is not needed.
# Not `npm ci`: it insists on the optional packages of other systems, which a registry mirror may lack.
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
# The workflows are bundled once, here, and not at every start.
RUN node --input-type=module -e "import { loadWorkflowBundle } from '/app/workers/bundle.ts'; await loadWorkflowBundle((error) => { throw error; });" && \
    mkdir /data && chown node:node /data
USER node
STOPSIGNAL SIGTERM

FROM base AS api
ENV PORT=8080 INTERNAL_PORT=9090
EXPOSE 8080
CMD ["node", "api/server.ts"]

FROM base AS orchestrator
ENV INTERNAL_PORT=9090
CMD ["node", "--import", "./workers/lightSandbox.ts", "workers/main.ts", "--pool", "orchestrator"]

FROM base AS delivery
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "delivery"]

FROM base AS cpu
# For the text of watermarks, in any script.
USER root
RUN apt-get update && \
    apt-get install -y --no-install-recommends fontconfig fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji && \
    rm -rf /var/lib/apt/lists/*
USER node
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "cpu"]

FROM base AS network
# For ICMP; without it ping times TCP handshakes. The copy lacks the file capability of the original, with which it cannot
# be executed in a container without capabilities. It needs none: Docker allows every group ICMP sockets.
USER root
RUN apt-get update && apt-get install -y --no-install-recommends iputils-ping && rm -rf /var/lib/apt/lists/* && \
    cp /usr/bin/ping /usr/bin/ping.plain && mv /usr/bin/ping.plain /usr/bin/ping
USER node
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "network"]

FROM base AS heavy
# LibreOffice and the sandbox it runs in, and the fonts of documents: the metric twins of Microsoft's, and all scripts.
USER root
RUN apt-get update && \
    apt-get install -y --no-install-recommends libreoffice-writer-nogui bubblewrap fontconfig \
      fonts-crosextra-carlito fonts-crosextra-caladea fonts-liberation fonts-dejavu-core \
      fonts-noto-core fonts-noto-cjk fonts-symbola && \
    rm -rf /var/lib/apt/lists/*
USER node
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "heavy"]

FROM base AS browser
# Chromium, what shuts it in, the lists of ads and trackers, and fonts for every script.
USER root
RUN apt-get update && \
    apt-get install -y --no-install-recommends chromium-headless-shell chromium-sandbox iproute2 webext-ublock-origin-chromium \
      fontconfig fonts-liberation fonts-dejavu-core fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji && \
    rm -rf /var/lib/apt/lists/*
USER node
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "browser"]
