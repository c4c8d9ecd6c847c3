#!/usr/bin/env bash
# proto3-json-serializer 4.1.0 (Node.js), with which Google's client libraries speak JSON: durations, times and field masks.
# Expected: the JSON that the documentation of Protocol Buffers has for these types, as of protobuf 7.36.2 (Python).
# Seen: -1.5 s becomes "-1s" and -0.5 s "0s", without an error, and "-1s" cannot be read back; the half second of a time with an offset reads as
# 5 ns; and field masks keep the names as they are, so that "displayName" reads as a field of that name and not as display_name.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"type":"module"}' > package.json
npm install --silent --no-audit --no-fund proto3-json-serializer@4.1.0 protobufjs@7.6.6
python3 -m venv venv
venv/bin/pip install --quiet protobuf==7.36.2
cat > convert.js <<'SCRIPT'
import protobuf from 'protobufjs';
import serializer from 'proto3-json-serializer';
const { fromProto3JSON, toProto3JSON } = serializer;
const root = protobuf.Root.fromJSON(protobuf.common.get('google/protobuf/duration.proto'));
for (const name of ['timestamp', 'field_mask']) root.addJSON(protobuf.common.get(`google/protobuf/${name}.proto`).nested);
root.resolveAll();
const type = (name) => root.lookupType(`google.protobuf.${name}`);
const attempt = (run) => {
  try {
    return JSON.stringify(run());
  } catch (error) {
    return error.message;
  }
};
const write = (name, fields) => console.log(name, JSON.stringify(fields), attempt(() => toProto3JSON(type(name).fromObject(fields))));
const read = (name, json) => console.log(name, json, attempt(() => type(name).toObject(fromProto3JSON(type(name), json), { longs: Number })));
write('Duration', { seconds: 1, nanos: 500_000_000 });
write('Duration', { seconds: -1, nanos: -500_000_000 });
write('Duration', { seconds: 0, nanos: -500_000_000 });
read('Duration', '1.5s');
read('Duration', '-1s');
read('Timestamp', '2026-11-28T12:00:00.5Z');
read('Timestamp', '2026-11-28T13:00:00.5+01:00');
write('FieldMask', { paths: ['display_name'] });
read('FieldMask', 'displayName');
SCRIPT
cat > convert.py <<'SCRIPT'
import json
from google.protobuf.duration_pb2 import Duration
from google.protobuf.field_mask_pb2 import FieldMask
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.json_format import MessageToJson, Parse
for message in Duration(seconds=-1, nanos=-500_000_000), Duration(nanos=-500_000_000), FieldMask(paths=["display_name"]):
    print("Python", MessageToJson(message))
for message, text in (Duration(), "-1s"), (Timestamp(), "2026-11-28T13:00:00.5+01:00"), (FieldMask(), "displayName"):
    print("Python", text, *str(Parse(json.dumps(text), message)).split())
SCRIPT
output=$(node convert.js && venv/bin/python convert.py)
echo "$output"
diff - <(echo "$output") <<'LINES'
Duration {"seconds":1,"nanos":500000000} "1.500s"
Duration {"seconds":-1,"nanos":-500000000} "-1s"
Duration {"seconds":0,"nanos":-500000000} "0s"
Duration 1.5s {"seconds":1,"nanos":500000000}
Duration -1s googleProtobufDurationFromProto3JSON: incorrect value -1s passed as google.protobuf.Duration
Timestamp 2026-11-28T12:00:00.5Z {"seconds":1795867200,"nanos":500000000}
Timestamp 2026-11-28T13:00:00.5+01:00 {"seconds":1795867200,"nanos":5}
FieldMask {"paths":["display_name"]} "display_name"
FieldMask displayName {"paths":["displayName"]}
Python "-1.500s"
Python "-0.500s"
Python "displayName"
Python -1s seconds: -1
Python 2026-11-28T13:00:00.5+01:00 seconds: 1795867200 nanos: 500000000
Python displayName paths: "display_name"
LINES
echo 'as described'
