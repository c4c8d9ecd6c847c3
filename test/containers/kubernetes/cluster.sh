#!/usr/bin/env bash
# Runs a Kubernetes node on machines without a cluster: etcd and containerd of Debian, and Kubernetes and kube-router, which
# enforces network policies, built from their Go modules. Requires Debian 12, root, Go, and access to package registries only.
#   cluster.sh up FOLDER     builds what is missing (minutes), starts the node, prints the path of its kubeconfig
#   cluster.sh load FOLDER   reads images from stdin (`docker save`) into the node
#   cluster.sh down FOLDER   ends all pods, stops the node and removes its network rules; unused iptables chains of the kubelet
#                            stay
set -euo pipefail
command=$1 folder=$2
bin=$folder/bin run=$folder/run
kubernetes=v1.34.4
router=v2.1.0
# The node's own address, on which the API server listens. Pods can reach it. It is not link-local, because Kubernetes accepts
# no such address as an endpoint of a Service.
node=10.245.0.1
# An address of the node that stands for the Internet. It is reserved for documentation (RFC 5737), and the chart's network
# policies allow it.
internet=203.0.113.1
# The address of the DNS server's Service, which dns.yaml sets too.
dns=10.96.0.10
between_pods=(-s 10.244.0.0/24 -d 10.244.0.0/24 -j ACCEPT)
services=10.96.0.0/16
export KUBECONFIG=$run/kubeconfig

module() { go mod download -json "$1" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p'; }

build() {
  mkdir -p "$bin"
  export GOFLAGS=-mod=mod CGO_ENABLED=0
  if [ ! -x "$bin/kubectl" ]; then
    echo 'cluster: building Kubernetes' >&2
    local source=$folder/source
    rm -rf "$source"
    cp -r "$(module "k8s.io/kubernetes@$kubernetes")" "$source"
    chmod -R u+w "$source"
    # go.mod replaces Kubernetes's libraries by folders that the published module does not contain, so the replacements are
    # removed; the libraries are published as modules too.
    sed -i -E "/=> \.\/staging\//d; s#(k8s\.io/[a-z0-9-]+) v0\.0\.0\$#\1 v0${kubernetes#v1}#" "$source/go.mod"
    rm -rf "$source/go.work" "$source/go.work.sum" "$source/vendor"
    # Without these linker flags, the API server reports no version, and Helm refuses the chart.
    local version=k8s.io/component-base/version
    local flags="-s -w -X $version.gitVersion=$kubernetes -X $version.gitMajor=1 -X $version.gitMinor=34"
    # Builds kubectl last, because its file marks a complete build.
    (cd "$source" && go mod tidy -e >/dev/null 2>&1 || true
      for name in kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy kubectl; do
        go build -ldflags="$flags" -o "$bin/$name" "./cmd/$name"
      done)
    rm -rf "$source"
  fi
  if [ ! -x "$bin/kube-router" ]; then
    echo 'cluster: building kube-router' >&2
    GOBIN=$bin go install -ldflags='-s -w' "github.com/cloudnativelabs/kube-router/v2/cmd/kube-router@$router"
  fi
}

packages() {
  local missing=()
  command -v etcd >/dev/null || missing+=(etcd-server)
  command -v containerd >/dev/null || missing+=(containerd runc)
  command -v conntrack >/dev/null || missing+=(conntrack)
  command -v iptables >/dev/null || missing+=(iptables)
  command -v ipset >/dev/null || missing+=(ipset)
  [ -d /usr/lib/cni ] || missing+=(containernetworking-plugins)
  if [ ${#missing[@]} -gt 0 ]; then
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >&2
  fi
}

# services_without_rules -I|-D: adds or removes rules that reject packets to a Service for which kube-proxy has no rule yet.
# Without them, the packets leave the machine. A proxy there can accept the connection, which the API server then keeps.
services_without_rules() {
  local chain
  for chain in OUTPUT FORWARD; do iptables "$1" "$chain" -d "$services" -j REJECT; done
}

# start NAME PROGRAM ARGUMENT…: runs a daemon whose log and pid are in $run.
start() {
  local name=$1
  shift
  setsid "$@" >"$run/$name.log" 2>&1 </dev/null &
  echo $! >"$run/$name.pid"
}
# wait_for SECONDS COMMAND…: repeats the command until it succeeds; fails after this many seconds.
wait_for() {
  local left=$1
  shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    if [ "$left" -le 0 ]; then
      echo "cluster: timed out waiting for: $*; logs are in $run" >&2
      exit 1
    fi
    sleep 1
  done
}

configure() {
  mkdir -p "$run/cni"
  local token
  token=$(head -c 16 /dev/urandom | od -An -v -tx1 | tr -d ' \n')
  (umask 077 && echo "$token,admin,1,system:masters" >"$run/tokens.csv")
  [ -f "$run/accounts.key" ] || openssl genrsa -out "$run/accounts.key" 2048 2>/dev/null
  # The certificate by which API servers of extensions, such as KEDA's for metrics, recognise this API server.
  [ -f "$run/front.key" ] || openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=front \
    -keyout "$run/front.key" -out "$run/front.crt" 2>/dev/null
  cat >"$run/containerd.toml" <<CONFIG
version = 2
root = "$run/containerd"
state = "$run/containerd-state"
[grpc]
  address = "$run/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$run/cni"
CONFIG
  cat >"$run/cni/10-bridge.conflist" <<'CONFIG'
{
  "cniVersion": "0.4.0",
  "name": "pods",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "ipMasq": true,
      "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "ranges": [[{ "subnet": "10.244.0.0/24" }]],
        "routes": [{ "dst": "0.0.0.0/0" }]
      }
    }
  ]
}
CONFIG
  (umask 077 && cat >"$KUBECONFIG" <<CONFIG
apiVersion: v1
kind: Config
clusters: [{ name: test, cluster: { server: "https://$node:16443", certificate-authority: "$run/certificates/apiserver.crt" } }]
users: [{ name: admin, user: { token: "$token" } }]
contexts: [{ name: test, context: { cluster: test, user: admin } }]
current-context: test
CONFIG
  )
  # The kubelet does not authenticate its clients, so it listens on loopback only; the API server reaches it by the node's
  # name.
  cat >"$run/kubelet.yaml" <<CONFIG
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: 127.0.0.1
authentication: { anonymous: { enabled: true }, webhook: { enabled: false } }
authorization: { mode: AlwaysAllow }
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
failCgroupV1: false
# Disables the deletion of images, which otherwise starts when the disk is 85 % full.
imageGCHighThresholdPercent: 100
containerRuntimeEndpoint: unix://$run/containerd.sock
clusterDNS: [$dns]
clusterDomain: cluster.local
evictionHard: { nodefs.available: "1%", imagefs.available: "1%", memory.available: 100Mi }
CONFIG
}

up() {
  packages
  build
  if [ -f "$run/kubelet.pid" ] && kill -0 "$(cat "$run/kubelet.pid")" 2>/dev/null; then
    echo "$KUBECONFIG"
    return
  fi
  configure
  start etcd etcd --data-dir "$run/etcd" --listen-client-urls http://127.0.0.1:23790 \
    --advertise-client-urls http://127.0.0.1:23790 --listen-peer-urls http://127.0.0.1:23800
  for address in "$node" "$internet"; do ip address replace "$address/32" dev lo; done
  start apiserver "$bin/kube-apiserver" --etcd-servers=http://127.0.0.1:23790 --cert-dir="$run/certificates" \
    --secure-port=16443 --bind-address="$node" --kubelet-preferred-address-types=Hostname \
    --token-auth-file="$run/tokens.csv" --authorization-mode=RBAC \
    --requestheader-client-ca-file="$run/front.crt" --requestheader-allowed-names=front \
    --proxy-client-cert-file="$run/front.crt" --proxy-client-key-file="$run/front.key" \
    --requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --service-cluster-ip-range="$services" --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$run/accounts.key" --service-account-signing-key-file="$run/accounts.key"
  start containerd containerd -c "$run/containerd.toml"
  wait_for 120 "$bin/kubectl" get --raw /readyz
  start controller-manager "$bin/kube-controller-manager" --kubeconfig="$KUBECONFIG" \
    --service-account-private-key-file="$run/accounts.key" --root-ca-file="$run/certificates/apiserver.crt" \
    --controllers='*,-node-ipam-controller'
  start scheduler "$bin/kube-scheduler" --kubeconfig="$KUBECONFIG"
  start kubelet "$bin/kubelet" --kubeconfig="$KUBECONFIG" --config="$run/kubelet.yaml" --root-dir="$run/kubelet" \
    --hostname-override=localhost
  # Masquerades all traffic to services, so that responses pass through the node although pods share a bridge.
  start proxy "$bin/kube-proxy" --kubeconfig="$KUBECONFIG" --hostname-override=localhost --proxy-mode=iptables \
    --cluster-cidr=10.244.0.0/24 --masquerade-all --conntrack-max-per-core=0
  sysctl -q -w net.ipv4.ip_forward=1
  # Accepts packets between pods, because a Docker engine on the machine makes the kernel drop forwarded packets that no
  # rule accepts.
  iptables -C FORWARD "${between_pods[@]}" 2>/dev/null || iptables -I FORWARD "${between_pods[@]}"
  services_without_rules -D 2>/dev/null || true
  services_without_rules -I
  wait_for 120 "$bin/kubectl" wait --for=condition=Ready node/localhost --timeout=1s
  # Makes the rules apply to packets between pods too, which the bridge would otherwise pass on without them.
  sysctl -q -w net.bridge.bridge-nf-call-iptables=1
  start router "$bin/kube-router" --kubeconfig="$KUBECONFIG" --hostname-override=localhost --service-cluster-ip-range="$services" \
    --run-firewall --run-router=false --run-service-proxy=false --enable-cni=false --health-port=0 --metrics-port=0
  echo "$KUBECONFIG"
}

load() { ctr --address "$run/containerd.sock" --namespace k8s.io images import - >&2; }

stop() {
  [ -f "$run/$1.pid" ] || return 0
  local pid
  pid=$(cat "$run/$1.pid")
  rm "$run/$1.pid"
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 30); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 1
  done
  kill -9 "$pid" 2>/dev/null || true
}

# Removes the rules of kube-router, whose own command for this (--cleanup-config) removes none in this version.
remove_policies() {
  command -v ipset >/dev/null || return 0
  iptables-save -c -t filter | grep -vE 'KUBE-(ROUTER|NWPLCY|POD-FW)-' | iptables-restore -c
  local name
  for name in $(ipset list -name | grep -E '^(KUBE-(SRC|DST)|kube-router)-' || true); do ipset destroy "$name"; done
}

down() {
  if [ -f "$run/apiserver.pid" ]; then
    # Deletes first what would replace deleted pods. Orphans the pods, because they would otherwise get their own, long grace
    # period, which a preStop hook uses up.
    "$bin/kubectl" delete deployments,replicasets,cronjobs,jobs --all --all-namespaces --cascade=orphan --timeout=60s \
      >/dev/null 2>&1 || true
    "$bin/kubectl" delete pods --all --all-namespaces --grace-period=5 --timeout=120s >/dev/null 2>&1 || true
  fi
  for name in router proxy kubelet scheduler controller-manager containerd apiserver etcd; do stop "$name"; done
  for address in "$node" "$internet"; do ip address delete "$address/32" dev lo 2>/dev/null || true; done
  iptables -D FORWARD "${between_pods[@]}" 2>/dev/null || true
  services_without_rules -D 2>/dev/null || true
  remove_policies
  "$bin/kube-proxy" --cleanup >/dev/null 2>&1 || true
  ip link delete cni0 2>/dev/null || true
  # Mounts that the kubelet leaves, the innermost first.
  awk -v folder="$run/kubelet" 'index($2, folder) == 1 { print $2 }' /proc/mounts | sort -r | xargs -r umount || true
  rm -rf "$run/etcd" "$run/certificates"
}

case $command in
  up | load | down) "$command" ;;
  *)
    echo 'Usage: cluster.sh up|load|down FOLDER' >&2
    exit 2
    ;;
esac
