#!/bin/sh
# Makes of the packages in dist/ a signed repository for apt and one for dnf, in dist/repo, which a web server then gives
# out as it is. All versions that lie in dist/ are in it: whoever wants to go back finds the older ones.
# KEY: the key that signs, as gpg names it; its public part lies in the repository. URL: where dist/repo will be found.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need gpg dpkg-scanpackages gzip createrepo_c rpmsign
dist=${CMGR_DIST:-$root/dist}
repo=$dist/repo
[ -n "${KEY:-}" ] || die "no KEY says who signs (hint: gpg --list-secret-keys; KEY=… URL=https://… make repo)"
[ -n "${URL:-}" ] || die "no URL says where the repository will be found (hint: KEY=… URL=https://… make repo)"
gpg --batch --list-secret-keys "$KEY" >/dev/null 2>&1 || die "gpg has no secret key $KEY (hint: gpg --list-secret-keys)"
for kind in deb rpm; do
    ls "$dist"/cmgr*."$kind" >/dev/null 2>&1 || die "there is no .$kind in $dist (hint: make deb rpm)"
done

rm -rf "$repo"
mkdir -p "$repo/apt/pool" "$repo/dnf"
gpg --batch --armor --export "$KEY" >"$repo/cmgr.asc"
cp "$dist"/cmgr_*.deb "$repo/apt/pool/"
cp "$dist"/cmgr-*.rpm "$repo/dnf/"

# --- apt: an index for each architecture, and a signed list of their checksums ------------------------------------

(
    cd "$repo/apt"
    for arch in amd64 arm64; do
        index=dists/stable/main/binary-$arch
        mkdir -p "$index"
        dpkg-scanpackages --multiversion --arch "$arch" pool >"$index/Packages" 2>/dev/null
        gzip -9nk "$index/Packages"
    done
    cd dists/stable
    {
        echo "Origin: cmgr"
        echo "Label: cmgr"
        echo "Suite: stable"
        echo "Codename: stable"
        echo "Architectures: amd64 arm64"
        echo "Components: main"
        echo "Date: $(date --utc --rfc-email)"
        echo "SHA256:"
        find main -type f | sort | while read -r file; do
            echo " $(sha256sum "$file" | cut -d ' ' -f 1) $(stat -c %s "$file") $file"
        done
    } >Release
    gpg --batch --yes --local-user "$KEY" --clearsign --output InRelease Release
    gpg --batch --yes --local-user "$KEY" --armor --detach-sign --output Release.gpg Release
)
cat >"$repo/apt/cmgr.sources" <<END
Types: deb
URIs: $URL/apt
Suites: stable
Components: main
Signed-By: /etc/apt/keyrings/cmgr.asc
END

# --- dnf: each package is signed, and so is the index --------------------------------------------------------------

rpmsign --define "__gpg $(command -v gpg)" --define "_gpg_name $KEY" --addsign "$repo"/dnf/*.rpm >/dev/null
createrepo_c --quiet "$repo/dnf"
gpg --batch --yes --local-user "$KEY" --armor --detach-sign "$repo/dnf/repodata/repomd.xml"
cat >"$repo/dnf/cmgr.repo" <<END
[cmgr]
name=cmgr
baseurl=$URL/dnf
enabled=1
gpgcheck=1
repo_gpgcheck=1
gpgkey=$URL/cmgr.asc
END
echo "$repo"
