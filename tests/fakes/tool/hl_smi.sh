#!/bin/sh
# An hl-smi, as its manual has it (System_Management_Interface_Tool): -Q FIELDS -f csv, with a line of names first, and
# -r -i ADDRESS. `modules` beside it has a line for each module: index, bus_id, serial, name, uncorrected errors.
here=$(dirname "$0")
case $1 in
-Q) [ "$3 $4" = "-f csv" ] || exit 2
    echo "$2" | sed 's/,/, /g'
    while read -r index bus_id serial name errors; do
        row=
        for field in $(echo "$2" | tr , ' '); do
            case $field in
            index) value=$index ;; bus_id) value=$bus_id ;; serial) value=$serial ;; name) value=$name ;;
            ecc.errors.uncorrected.volatile.total) value=$errors ;;
            *) echo "Field \"$field\" is not a valid field to query."; exit 2 ;;
            esac
            row="${row:+$row, }$value"
        done
        echo "$row"
    done <"$here/modules" ;;
-r) [ "$2" = -i ] && echo "$3" >>"$here/resets" && echo "in reset" >"$here/sys/accel$(grep -n "$3" "$here/modules" | cut -c1 | tr 12 01)/device/status" ;;
esac
