#!/bin/sh
# Builds the interpreter that the packages carry, for $ARCH, and prints the directory that it is in.
#
# CPython 3.11 and the libraries that it needs come from Debian's source packages, with Debian's security patches, and
# are compiled by zig (from PyPI) against glibc 2.28: the result runs on every later one. Libraries are linked in.
# What was built is kept in the cache, by the checksum of everything that it was made of.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/lib.sh"
need apt-get dpkg-source gcc make perl tclsh python3 xz bzip2 patch

# The interpreter does not depend on the commit: one from the cache has to be the one that would be built now.
SOURCE_DATE_EPOCH=1767225600
suite=bookworm
glibc=2.28
sources="python3.11 openssl libffi sqlite3 zlib"
jobs=$(nproc)
native=$(uname -m)

# --- What it is made of ------------------------------------------------------------------------------------------

# The machine's own mirror of Debian, unless told another: for the release, and for the security updates.
mirrors() {
    if [ -n "${DEBIAN_MIRROR:-}" ]; then
        echo "$DEBIAN_MIRROR $suite"
        echo "$DEBIAN_MIRROR $suite-updates"
        [ -z "${DEBIAN_SECURITY_MIRROR:-}" ] || echo "$DEBIAN_SECURITY_MIRROR $suite-security"
        return
    fi
    apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' | sort -u | while read -r label site; do
        case $label in
        Debian)
            echo "$site $suite"
            echo "$site $suite-updates"
            ;;
        Debian-Security) echo "$site $suite-security" ;;
        esac
    done
}

keys=/usr/share/keyrings/debian-archive-keyring.gpg
mkdir -p "$cache/apt/lists/partial" "$cache/sources"
mirrors | sed "s|.*|deb-src [signed-by=$keys] & main|" >"$cache/apt/sources.list"
[ -s "$cache/apt/sources.list" ] || die "apt knows no mirror of Debian (DEBIAN_MIRROR names one)"

apt() {
    tool=$1
    shift
    "$tool" -qq -o Dir::Etc::SourceList="$cache/apt/sources.list" -o Dir::Etc::SourceParts=- -o APT::Sandbox::User=root \
        -o Dir::State="$cache/apt" -o Dir::State::Lists="$cache/apt/lists" -o Dir::Cache="$cache/apt" "$@"
}

apt apt-get update >&2 || echo "the lists of sources could not be renewed; those from before are used" >&2

# Prints the newest version whose source can be had; a mirror may lack the newest one for a while.
fetched() {
    for version_of in $(apt apt-cache showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort -rVu); do
        dsc="$cache/sources/${1}_${version_of#*:}.dsc"
        if [ -e "$dsc" ] || (cd "$cache/sources" && apt apt-get source --download-only "$1=$version_of" >/dev/null 2>&1); then
            echo "$version_of"
            return
        fi
        echo "the mirror lacks the source of $1 $version_of: an older one is taken" >&2
    done
    die "no source of $1 can be had"
}

made_of=""
for name in $sources; do
    made_of="$made_of$name $(fetched "$name")
"
done
zig_version=$(sed -n 's/^ziglang==//p' "$here/constraints.txt")
key=$( (cat "$0" "$here/python/semaphores.h" && echo "$made_of$zig_version") | sha256sum | cut -c1-16)
result="$cache/python-$ARCH-$key"
if [ -e "$result/SOURCES" ]; then
    echo "$result"
    exit
fi

# CPython is cross-built by a CPython of the same version.
build_python=""
[ "$ARCH" = "$native" ] || build_python=$(ARCH=$native sh "$0")/bin/python3.11

# --- The compiler ------------------------------------------------------------------------------------------------

zig="$cache/zig-$zig_version-$native/ziglang"
if [ ! -e "$zig/zig" ]; then
    rm -rf "$zig.new"
    python3 -m pip install --quiet --disable-pip-version-check --root-user-action ignore --no-deps --target "$zig.new" "ziglang==$zig_version" >&2
    mkdir -p "${zig%/*}"
    mv "$zig.new/ziglang" "$zig"
    rm -rf "$zig.new"
fi

work=$(mktemp -d "${TMPDIR:-/tmp}/cmgr-python.XXXXXX")
trap 'rm -rf "$work"' EXIT
libs="$work/libs"
mkdir -p "$work/tools" "$libs/lib" "$libs/include"
# Called by name: OpenSSL writes into itself how the compiler was called, and no path of this machine is to be in there.
for tool in cc ar ranlib; do
    case $tool in
    cc) words="cc -target $ARCH-linux-gnu.$glibc" ;;
    *) words=$tool ;;
    esac
    printf '#!/bin/sh\nexec "%s/zig" %s "$@"\n' "$zig" "$words" >"$work/tools/cmgr-$tool"
    chmod 755 "$work/tools/cmgr-$tool"
done
export PATH="$work/tools:$PATH" CC=cmgr-cc AR=cmgr-ar RANLIB=cmgr-ranlib
export ZIG_GLOBAL_CACHE_DIR="$work/zig" ZIG_LOCAL_CACHE_DIR="$work/zig"
flags="-O2 -g0 -fPIC -fstack-protector-strong -D_FORTIFY_SOURCE=2"
cross=""
[ "$ARCH" = "$native" ] || cross="--host=$ARCH-linux-gnu --build=$native-linux-gnu"

# --- The libraries -----------------------------------------------------------------------------------------------

# Runs a step, and shows what it said only when it failed.
step() {
    name=$1
    shift
    echo "$ARCH: $name" >&2
    # Not `"$@" ||`: within that, no failure but the last would count.
    set +e
    (set -e && "$@") >"$work/log" 2>&1
    code=$?
    set -e
    if [ "$code" != 0 ]; then
        tail -n 30 "$work/log" >&2
        die "$name failed"
    fi
}

echo "$made_of" | while read -r name version_of; do
    [ -z "$name" ] || step "unpack $name $version_of" \
        dpkg-source --no-check -x "$cache/sources/${name}_${version_of#*:}.dsc" "$work/$name"
done

zlib() {
    cd "$work/zlib"
    CFLAGS=$flags ./configure --static --prefix="$libs"
    make -j"$jobs" install
}

libffi() {
    cd "$work/libffi"
    # Its src/tramp.c calls a function that it does not declare.
    CFLAGS="$flags -Wno-implicit-function-declaration" ./configure $cross --disable-shared --disable-docs \
        --disable-multi-os-directory --prefix="$libs"
    make -j"$jobs" install MAKEINFO=true
}

sqlite() {
    mkdir "$work/sqlite" && cd "$work/sqlite"
    # Its one source file is made by programs that run here.
    CC=gcc ../sqlite3/configure --disable-tcl --disable-shared --disable-readline
    make sqlite3.c
    # What its configure found out, it found out about the other compiler's C library. Without usleep, whoever finds the
    # database locked sleeps for whole seconds.
    has=""
    for function in USLEEP FDATASYNC LOCALTIME_R GMTIME_R PREAD PWRITE; do has="$has -DHAVE_$function=1"; done
    $CC $flags $has -DSQLITE_THREADSAFE=1 -DSQLITE_OMIT_LOAD_EXTENSION -DSQLITE_DQS=0 -c sqlite3.c
    $AR rcs "$libs/lib/libsqlite3.a" sqlite3.o
    cp sqlite3.h "$libs/include"
}

openssl() {
    cd "$work/openssl"
    # What TLS and hashes need of it, and no more.
    ./Configure "linux-$ARCH" no-shared no-tests no-dso no-engine no-legacy no-comp no-ssl3 no-dtls no-srp no-idea no-md4 \
        no-mdc2 no-rc2 no-rc4 no-rc5 no-seed no-camellia no-aria no-bf no-cast no-des no-sm2 no-sm3 no-sm4 no-gost \
        no-whirlpool no-cmp no-cms no-ct no-ts no-ui-console no-afalgeng no-ocb no-rmd160 no-nextprotoneg \
        --prefix=/usr/lib/cmgr/python --libdir=lib --openssldir=/etc/ssl $flags
    make -j"$jobs" build_libs
    make DESTDIR="$work/openssl-out" install_dev
    cp -r "$work/openssl-out/usr/lib/cmgr/python/." "$libs"
}

step zlib zlib
step libffi libffi
step sqlite sqlite
step openssl openssl

# --- The interpreter ---------------------------------------------------------------------------------------------

configure() {
    cd "$work/python3.11"
    # Waits that no change of the clock makes longer: see there.
    cp "$here/python/semaphores.h" Python/cmgr_semaphores.h
    sed -i 's|#include <semaphore.h>|#include "cmgr_semaphores.h"|' Python/thread_pthread.h
    grep -q cmgr_semaphores.h Python/thread_pthread.h
    absent=""
    for module in _tkinter _curses _curses_panel _gdbm _dbm readline _bz2 _lzma nis ossaudiodev _crypt spwd _uuid audioop; do
        absent="$absent py_cv_module_$module=n/a"
    done
    # What configure would run a program to find out. Left to guess it takes the worst: hashes of strings that others
    # can make collide, no time.tzset, the slower loop of the interpreter.
    answers="ac_cv_file__dev_ptmx=yes ac_cv_file__dev_ptc=no ac_cv_buggy_getaddrinfo=no ac_cv_aligned_required=no
        ac_cv_working_tzset=yes ac_cv_computed_gotos=yes ac_cv_broken_sem_getvalue=no ac_cv_pthread_system_supported=yes"
    [ -z "$build_python" ] || cross="$cross --with-build-python=$build_python $answers"
    ./configure $cross $absent --prefix=/usr/lib/cmgr/python --disable-shared --without-ensurepip --without-doc-strings \
        --disable-test-modules --with-openssl="$libs" PKG_CONFIG=/bin/false \
        ZLIB_CFLAGS="-I$libs/include" ZLIB_LIBS="-L$libs/lib -lz" \
        LIBSQLITE3_CFLAGS="-I$libs/include" LIBSQLITE3_LIBS="-L$libs/lib -lsqlite3 -lm" \
        CFLAGS="$flags -fPIE -fno-semantic-interposition -I$libs/include" LDFLAGS="-L$libs/lib -s -pie -Wl,-z,relro,-z,now"
    # Every module is linked into the interpreter: one file to open at the start instead of forty.
    sed 's/^\*shared\*/*static*/' Modules/Setup.stdlib >Modules/Setup.local
    # A line with an equals sign would be taken for a variable.
    echo "_ctypes _ctypes/_ctypes.c _ctypes/callbacks.c _ctypes/callproc.c _ctypes/stgdict.c _ctypes/cfield.c -DHAVE_FFI_PREP_CIF_VAR -DHAVE_FFI_PREP_CLOSURE_LOC -DHAVE_FFI_CLOSURE_ALLOC -lffi -ldl" >>Modules/Setup.local
}

compile() {
    cd "$work/python3.11"
    make -j"$jobs" python BUILD_DATE="$(date -u -d "@$SOURCE_DATE_EPOCH" '+%b %e %Y')" BUILD_TIME=00:00:00
}

step "configure the interpreter" configure
step "compile the interpreter" compile

# --- The result --------------------------------------------------------------------------------------------------

out="$work/out"
lib="$out/lib/python3.11"
mkdir -p "$out/bin" "$lib" "$out/licenses"
cp "$work/python3.11/python" "$out/bin/python3.11"
cp -r "$work/python3.11/Lib/." "$lib"
cd "$lib"
# What no program at work imports.
rm -rf test tests idlelib tkinter turtledemo turtle.py lib2to3 ensurepip venv distutils pydoc_data */test */tests \
    site-packages __phello__ lib-dynload
mkdir lib-dynload # Without it the interpreter complains at each start.
: >lib-dynload/.keep
# Of what the build knew, zoneinfo alone asks, and only for this.
cat >"_sysconfigdata__$ARCH-linux-gnu.py" <<'END'
build_time_vars = {"TZPATH": "/usr/share/zoneinfo:/usr/lib/zoneinfo:/usr/share/lib/zoneinfo:/etc/zoneinfo"}
END
for name in $sources; do
    mkdir "$out/licenses/$name"
    cp "$work/$name/debian/copyright" "$out/licenses/$name/copyright"
done
mkdir "$out/licenses/ziglang"
cp "$zig/LICENSE" "$out/licenses/ziglang/LICENSE"
cp "$work/python3.11/LICENSE" "$out/licenses/python3.11/LICENSE"
printf '%s' "$made_of" >"$out/SOURCES"
rm -rf "$result"
mv "$out" "$result"
echo "$result"
