# One image per kind of process, with only the programs that its pool needs. Select an image with --target.

FROM node:24.21.0-bookworm-slim AS dependencies
WORKDIR /app
COPY package.json package-lock.json ./
COPY activities/upscale/tfjs-node ./activities/upscale/tfjs-node
# Run by npm after the installation. Removes files that no process reads.
COPY dev/prune.mjs ./dev/
# Prevents onnxruntime-node from downloading GPU libraries from another registry, if npm does not read allowScripts.
ENV ONNXRUNTIME_NODE_INSTALL=skip
# The image contains Node, so the npm package "node" is removed.
# Does not use `npm ci`, which requires the optional packages of other systems; a registry mirror may lack them.
RUN npm install --omit=dev --no-save --no-audit --no-fund && rm -rf node_modules/node node_modules/.bin/node

# What all images share: Node.js without the package managers, which no process needs, and the npm packages.
FROM node:24.21.0-bookworm-slim AS base
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* && \
    mkdir /data && chown node:node /data
# The licences of sharp's libraries ask that their texts accompany them.
COPY LICENSE ./
COPY LICENSES ./LICENSES
COPY --from=dependencies /app/node_modules ./node_modules
USER node
STOPSIGNAL SIGTERM

# The code, with the workflows bundled, so that starts are faster. Images copy it after they installed their programs, so that
# a change of code does not install them again.
FROM base AS code
USER root
COPY package.json package-lock.json ./
COPY schemas ./schemas
COPY platform ./platform
COPY store ./store
COPY egress ./egress
COPY workflows ./workflows
COPY activities ./activities
COPY workers ./workers
COPY api ./api
RUN node --input-type=module -e "import { loadWorkflowBundle } from '/app/workers/bundle.ts'; await loadWorkflowBundle((error) => { throw error; });" && \
    mkdir -p /code/node_modules && mv node_modules/.cache /code/node_modules/ && \
    mv package.json package-lock.json schemas store egress workflows activities workers api /code/
USER node

FROM base AS api
COPY --from=code /code ./
# Pages of the documentation.
COPY docs ./docs
ENV PORT=8080 INTERNAL_PORT=9090
EXPOSE 8080
CMD ["node", "api/server.ts"]

FROM base AS orchestrator
COPY --from=code /code ./
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "orchestrator"]

FROM base AS gateway
COPY --from=code /code ./
ENV INTERNAL_PORT=9090
EXPOSE 3128 7233
CMD ["node", "workers/gateway/main.ts"]

# Issues the certificates for Temporal, once at each start.
FROM base AS certificates
COPY --from=code /code ./
CMD ["node", "workers/certificates/main.ts", "/certificates"]

FROM base AS delivery
COPY --from=code /code ./
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "delivery"]

FROM base AS cpu
# Fonts for watermark texts in any script.
USER root
RUN apt-get update && \
    apt-get install -y --no-install-recommends fontconfig fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji && \
    rm -rf /var/lib/apt/lists/*
USER node
COPY --from=code /code ./
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
COPY --from=code /code ./
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
COPY --from=code /code ./
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
COPY --from=code /code ./
ENV INTERNAL_PORT=9090
CMD ["node", "workers/main.ts", "--pool", "browser"]
