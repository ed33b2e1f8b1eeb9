#!/bin/sh
# Makes everything of a release in dist/release: packages for both architectures, what they bring along, the notes of this
# version, and checksums of all of it, signed. KEY: the key that signs, as gpg names it.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need gpg sha256sum
dist=${CMGR_DIST:-$root/dist}
out=$dist/release
[ -n "${KEY:-}" ] || die "no KEY says who signs (hint: gpg --list-secret-keys; KEY=… make release)"
gpg --batch --list-secret-keys "$KEY" >/dev/null 2>&1 || die "gpg has no secret key $KEY (hint: gpg --list-secret-keys)"
[ -z "$(git -C "$root" status --porcelain)" ] || die "files are changed or not committed (hint: git status)"
# A version that was not released yet has its notes under the heading that says so.
heading="## $version"
grep -Fqx "$heading" "$root/CHANGELOG.md" || heading="## Unreleased"

rm -rf "$out"
mkdir -p "$out"
for arch in x86_64 aarch64; do
    CMGR_DIST=$out ARCH=$arch sh "$here/build.sh" deb rpm >/dev/null &
    builds="${builds:-} $!"
done
for build in $builds; do wait "$build"; done
# For `make repo`, beside those of earlier versions.
cp "$out"/*.deb "$out"/*.rpm "$dist/"
for arch in x86_64 aarch64; do
    cp "$root/build/packages/$arch/tree/usr/share/doc/cmgr/sbom.cdx.json" "$out/cmgr-$version.$arch.sbom.cdx.json"
done
awk -v heading="$heading" '$0 == heading { on = 1; next } /^## / { on = 0 } on' "$root/CHANGELOG.md" >"$out/NOTES.md"
gpg --batch --armor --export "$KEY" >"$out/cmgr.asc"
(
    cd "$out"
    sha256sum -- * >SHA256SUMS
    gpg --batch --yes --local-user "$KEY" --armor --detach-sign SHA256SUMS
)
echo "$out"
