# Starts LibreOffice, warms it up and converts one document.
# $1: program folder, $2: settings, $3: font configuration, $4: warm-up document in base64.
# stdin: import filter and file name, one line each, then the document. stdout: "ready", then the PDF.
# Exit code 3: LibreOffice wrote no PDF.
program=$1
mkdir -p profile/user/extensions in out
printf '%s' "$2" > profile/user/registrymodifications.xcu
printf '%s' "$3" > fonts.conf
export FONTCONFIG_FILE=/tmp/fonts.conf
# Without this file LibreOffice assumes an update, clears its caches and restarts.
sed -n 's/^buildid=//p' "$program/versionrc" | tr -d '\n' > profile/user/extensions/buildid
profile=-env:UserInstallation=file:///tmp/profile

# Must precede `set`, which replaces the arguments.
printf '%s' "$4" | base64 -d > warm.docx
# An open document keeps LibreOffice from exiting after a conversion.
printf '{\\rtf1\\ansi Ready.\\par}' > warm.rtf
"$program/soffice.bin" "$profile" --headless --norestore --nologo --nodefault /tmp/warm.rtf > log < /dev/null &
until set -- OSL_PIPE_* && [ -e "$1" ]; do
  kill -0 $! || exit 1
  sleep 0.02
done

# Sends the conversion to the running LibreOffice through its pipe and waits for the result.
convert() { "$program/oosplash" "$profile" --headless --convert-to pdf "$@" < /dev/null > /dev/null; }
# Loads filters, fonts and table layout, which takes longer than a conversion.
convert --outdir /tmp /tmp/warm.docx
[ -s warm.pdf ] || exit 1
echo ready

IFS= read -r filter && IFS= read -r name || exit 0
cat > "in/$name"
convert ${filter:+"--infilter=$filter"} --outdir /tmp/out "/tmp/in/$name"
set -- out/*.pdf
[ -s "$1" ] || { cat log >&2; exit 3; }
cat "$1"
