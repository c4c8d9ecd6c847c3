# Starts LibreOffice with the component forkServer.py, which forks a process for each document.
# $1: program folder, $2: settings, $3: font configuration, $4: warm-up document in base64, $5: forkServer.py,
# $6: how many bytes of files the process of a document may write, $7: makeFonts.py, $8: the fonts that it makes, $9: folders of
# fonts, separated by colons. stdin and stdout: see forkServer.py.
program=$1
# LibreOffice reads the list of services of installed extensions from this folder.
registry=profile/user/uno_packages/cache/registry/com.sun.star.comp.deployment.component.PackageRegistryBackend
mkdir -p "$registry" profile/user/extensions job/temp
# LibreOffice writes the fonts that a document contains to its profile, which the process of a document cannot change.
ln -s /tmp/job/temp profile/user/temp
printf '%s' "$2" > profile/user/registrymodifications.xcu
printf '%s' "$3" > fonts.conf
printf '%s' "$7" > makeFonts.py
mkdir fonts
IFS=:
for folder in $9; do
  python="${folder%/share/fonts}/bin/python3"
  [ -x "$python" ] && break
done
# Without these fonts, LibreOffice takes others.
"$python" makeFonts.py "$8" fonts $9
unset IFS
printf '%s' "$4" | base64 -d > warm.docx
printf '%s' "$5" > forkServer.py
cat > services.rdb << 'END'
<components xmlns="http://openoffice.org/2010/uno-components">
<component loader="com.sun.star.loader.Python" uri="file:///tmp/forkServer.py">
<implementation name="ForkServer"><service name="ForkServer"/></implementation>
</component>
</components>
END
echo 'UNO_SERVICES=file:///tmp/services.rdb' > "$registry/unorc"
# Without this file LibreOffice assumes an update, clears its caches and restarts.
sed -n 's/^buildid=//p' "$program/versionrc" | tr -d '\n' > profile/user/extensions/buildid
export FONTCONFIG_FILE=/tmp/fonts.conf TMPDIR=/tmp/job SCRATCH_BYTES="$6"
# "user:*" instead of "user:!": LibreOffice then has no thread that saves settings. A process that is forked while that thread holds
# the lock of the settings would wait for it forever.
layers=$(sed -n 's/^CONFIGURATION_LAYERS=//p' "$program/fundamentalrc" | sed 's/ user:!/ user:*/')
exec "$program/soffice.bin" "-env:CONFIGURATION_LAYERS=$layers" -env:UserInstallation=file:///tmp/profile --headless --norestore \
  --nologo --nodefault service:ForkServer
