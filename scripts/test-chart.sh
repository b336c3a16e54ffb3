#!/bin/sh
# npm run test:chart: the Helm chart through helm, kubeconform, the types of Kubernetes and its Pod Security check. With -- --write
# it renders the plain manifests of packaging/kubernetes anew, with -- --package FILE it packs the chart. Go and pip take the tools
# from the registries that their settings name; they stay in a cache for the next run.
set -eu
cd "$(dirname "$0")/.."
sh scripts/prepare.sh
for program in go python3; do
  command -v "$program" >/dev/null 2>&1 || {
    echo "This needs Go 1.26 and Python 3 with pip, for helm and kubeconform, and for the schemas of Kubernetes: $program is missing" >&2
    exit 1
  }
done
tools=${XDG_CACHE_HOME:-$HOME/.cache}/fahao-chart
# module, program, version: each version has a folder of its own.
tool() {
  folder=$tools/$2-$3
  PATH=$folder:$PATH
  [ -x "$folder/$2" ] && return
  echo "Building $2 $3 (once; some minutes) …" >&2
  GOBIN="$folder" go install "$1@$3"
}
tool helm.sh/helm/v3/cmd/helm helm v3.22.0
tool github.com/yannh/kubeconform/cmd/kubeconform kubeconform v0.8.0
schemas=$tools/kubernetes-validate-1.37.0
[ -d "$schemas" ] || python3 -m pip install -q --no-deps --target "$schemas" kubernetes-validate==1.37.0
PATH="$PWD/node_modules/.bin:$PATH"
export PATH
exec node test/packaging/run-chart.ts "$schemas" "$@"
