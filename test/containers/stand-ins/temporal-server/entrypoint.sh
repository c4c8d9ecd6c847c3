#!/bin/bash
# Starts the server as the image does: the server reads its configuration from the environment.
set -eu
: "${BIND_ON_IP:=$(hostname -i | cut -d' ' -f1)}"
export BIND_ON_IP
exec temporal-server start
