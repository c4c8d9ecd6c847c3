# Converts one document, with a LibreOffice that has been warm for a while: $1 its program folder, $2 its settings, $3 its
# fonts, $4 a document to get warm with, in base64.
# stdin: the import filter and the file name, a line each, then the document. stdout: "ready", then the PDF.
# Exit code 3: LibreOffice made no PDF of it.
program=$1
mkdir -p profile/user/extensions in out
printf '%s' "$2" > profile/user/registrymodifications.xcu
printf '%s' "$3" > fonts.conf
export FONTCONFIG_FILE=/tmp/fonts.conf
# Without it LibreOffice thinks that it was updated, clears its caches and starts again.
sed -n 's/^buildid=//p' "$program/versionrc" | tr -d '\n' > profile/user/extensions/buildid
profile=-env:UserInstallation=file:///tmp/profile

# Before `set` takes the place of the arguments.
printf '%s' "$4" | base64 -d > warm.docx
# A document that stays open keeps the program from ending after a conversion.
printf '{\\rtf1\\ansi Ready.\\par}' > warm.rtf
"$program/soffice.bin" "$profile" --headless --norestore --nologo --nodefault /tmp/warm.rtf > log < /dev/null &
until set -- OSL_PIPE_* && [ -e "$1" ]; do
  kill -0 $! || exit 1
  sleep 0.02
done

# Hands the work to the program that runs, by the pipe, and waits for it.
convert() { "$program/oosplash" "$profile" --headless --convert-to pdf "$@" < /dev/null > /dev/null; }
# Loads what a conversion needs, which takes longer than the conversion: filters, fonts, the layout of a table.
convert --outdir /tmp /tmp/warm.docx
[ -s warm.pdf ] || exit 1
echo ready

IFS= read -r filter && IFS= read -r name || exit 0
cat > "in/$name"
convert ${filter:+"--infilter=$filter"} --outdir /tmp/out "/tmp/in/$name"
set -- out/*.pdf
[ -s "$1" ] || { cat log >&2; exit 3; }
cat "$1"
