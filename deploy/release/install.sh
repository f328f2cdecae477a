#!/bin/sh
# Installs Mneme @VERSION@ for the user who runs it. No root is needed. The archive is checked against SHA256SUMS.
#   sh install.sh                          downloads from the address of the release
#   MNEME_RELEASE=ADDRESS sh install.sh    downloads from another address, a folder on the web or on this machine
#   MNEME_PREFIX=FOLDER sh install.sh      installs below FOLDER instead of ~/.local
set -eu

version="@VERSION@"
release="${MNEME_RELEASE:-@ADDRESS@}"
prefix="${MNEME_PREFIX:-${HOME:?}/.local}"

fail() {
  printf 'mneme: %s\n' "$1" >&2
  exit 1
}

[ -n "$release" ] || fail "this release has no address; set MNEME_RELEASE to the folder or address of its files"
release="${release%/}"
case "$(uname -s)-$(uname -m)" in
  Linux-x86_64) platform=linux-x64 ;;
  Linux-aarch64) platform=linux-arm64 ;;
  Darwin-arm64) platform=macos-arm64 ;;
  Darwin-x86_64) platform=macos-x64 ;;
  *) fail "there is no program for $(uname -s) on $(uname -m)" ;;
esac
name="mneme-$version-$platform"
command -v tar >/dev/null || fail "tar was not found"
command -v xz >/dev/null || fail "xz was not found; install it (Debian: apt-get install xz-utils)"
if command -v sha256sum >/dev/null; then sum="sha256sum"; else sum="shasum -a 256"; fi

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
fetch() {
  case "$release" in
    http://* | https://*)
      if command -v curl >/dev/null; then curl -fsSL --retry 3 -o "$work/$1" "$release/$1"
      elif command -v wget >/dev/null; then wget -q -O "$work/$1" "$release/$1"
      else fail "curl or wget is needed"; fi ;;
    *) cp "$release/$1" "$work/$1" ;;
  esac || fail "$release/$1 cannot be read"
}
printf 'downloading %s …\n' "$name"
fetch SHA256SUMS
fetch "$name.tar.xz"
expected="$(grep " $name.tar.xz\$" "$work/SHA256SUMS" | cut -d ' ' -f 1)"
[ -n "$expected" ] || fail "SHA256SUMS does not name $name.tar.xz"
actual="$($sum "$work/$name.tar.xz" | cut -d ' ' -f 1)"
[ "$actual" = "$expected" ] || fail "$name.tar.xz is damaged: its SHA-256 is $actual, not $expected"

folder="$prefix/lib/mneme/$version"
mkdir -p "$prefix/lib/mneme" "$prefix/bin"
rm -rf "$folder.new"
mkdir "$folder.new"
tar -xJf "$work/$name.tar.xz" -C "$folder.new" --strip-components 1
rm -rf "$folder"
mv "$folder.new" "$folder"
ln -sfn "$folder/mneme" "$prefix/bin/mneme"
printf 'installed: %s\n' "$prefix/bin/mneme"
case ":$PATH:" in
  *":$prefix/bin:"*) printf 'start it with: mneme serve\n' ;;
  *) printf 'start it with: %s serve\n' "$prefix/bin/mneme" ;;
esac
