#!/bin/sh
# An ixsmi as public scripts use it: with options of nvidia-smi, -q and --query-gpu=… --format=csv, and reset by -r [-i N].
# Without hardware nobody knows more. `chips` beside it has a file for each chip, with its values as a shell sets them.
here=$(dirname "$0") do=none only= fields=
while [ $# -gt 0 ]; do
    case $1 in
    -q) do=all ;;
    -r) do=reset ;;
    -i) only=$2 && shift ;;
    --query-gpu=*) do=csv fields=$(echo "${1#*=}" | tr , ' ') ;;
    --format=csv,noheader,nounits) ;;
    *) echo "Invalid option: $1" && exit 2 ;;
    esac
    shift
done
for index in ${only:-$(ls "$here/chips")}; do
    [ -e "$here/chips/$index" ] || { echo "No devices were found" && exit 6; }
    . "$here/chips/$index"
    case $do in
    all) printf 'GPU %s\n    Product Name : %s\n    Minor Number : %s\n' "$bus" "$name" "$minor" ;;
    reset)
        [ -z "$used" ] || { echo "GPU $bus is currently in use by another process." && exit 19; }
        [ -z "$fails" ] || { echo "$fails" && exit 3; }
        echo "$index" >>"$here/resets"
        sed -i 's/^errors=.*/errors=0/' "$here/chips/$index"
        ;;
    csv)
        row=$index
        for field in ${fields#index}; do
            case $field in
            uuid) value=$uuid ;; pci.bus_id) value=$bus ;; name) value=$name ;; serial) value='[N/A]' ;;
            ecc.errors.uncorrected.volatile.total) value=$errors ;;
            temperature.gpu) value=41 ;; power.draw) value=57.25 ;; memory.used) value=120 ;;
            *) echo "Field \"$field\" is not a valid field to query." && exit 2 ;;
            esac
            row="$row, $value"
        done
        echo "$row"
        ;;
    esac
done
