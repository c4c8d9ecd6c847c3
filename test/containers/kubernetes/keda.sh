#!/usr/bin/env bash
# Builds KEDA, the autoscaler, from its Go module into FOLDER/bin unless it is there, with the scaler for Temporal only. Prints
# the manifests that install it with the image utility-tools-keda:1, which contains both programs.
#   keda.sh FOLDER
set -euo pipefail
folder=$1
bin=$folder/bin
version=v2.18.3
module=$(go mod download -json "github.com/kedacore/keda/v2@$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')

# Builds in a copy of the module, because `go install` refuses the replace directives of its go.mod. Removes all scalers except
# that for Temporal: some require modules that a proxy may lack, and together they take much longer to build.
build() {
  echo 'keda: building' >&2
  local source=$folder/keda-source
  rm -rf "$source"
  cp -r "$module" "$source"
  chmod -R u+w "$source"
  find "$source/pkg/scalers" -maxdepth 1 -name '*.go' ! -name scaler.go ! -name temporal_scaler.go -delete
  # The removed file of another scaler defines this constant.
  printf 'package scalers\n\nconst externalMetricType = "External"\n' >"$source/pkg/scalers/external_metric_type.go"
  # Keeps one case of the switch over the types of triggers.
  sed -i '/^\tswitch triggerType {$/,/^\tdefault:$/{/switch triggerType/b;/case "temporal":/,/return/b;/default:/b;d}' \
    "$source/pkg/scaling/scalers_builder.go"
  local flags="-s -w -X github.com/kedacore/keda/v2/version.Version=${version#v}"
  # Builds the adapter last, because its file marks a complete build.
  (cd "$source" && export CGO_ENABLED=0 &&
    go build -ldflags="$flags" -o "$bin/keda" ./cmd/operator &&
    go build -ldflags="$flags" -o "$bin/keda-adapter" ./cmd/adapter)
  rm -rf "$source"
}

[ -x "$bin/keda-adapter" ] || build
"$bin/kubectl" kustomize "$module/config/minimal" |
  sed -E 's#image: ghcr\.io/kedacore/.*#image: utility-tools-keda:1#; s#imagePullPolicy: Always#imagePullPolicy: Never#'
