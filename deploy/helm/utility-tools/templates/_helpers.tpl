{{- define "utility-tools.name" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) -}}
{{- $name | trunc 40 | trimSuffix "-" -}}
{{- end }}

{{- /* Arguments of the following templates: root, component. */}}

{{- define "utility-tools.selector" -}}
app.kubernetes.io/name: {{ .root.Chart.Name }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{- define "utility-tools.labels" -}}
{{ include "utility-tools.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{- define "utility-tools.tag" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "utility-tools.image" -}}
{{ .root.Values.image.prefix }}{{ .component }}:{{ include "utility-tools.tag" .root }}
{{- end }}

{{- /* Returns "true" for the components that process content of strangers, and reach nothing but the gateway. */}}
{{- define "utility-tools.confined" -}}
{{ if (get (fromYaml (.root.Files.Get "files/pools.yml")) .component | default dict).confined }}true{{ end }}
{{- end }}

{{- /* `<VARIABLE>: <reference>` of the secrets that a component reads. */}}
{{- define "utility-tools.secrets" -}}
{{- $secrets := .root.Values.secrets -}}
{{- $read := dict "MASTER_KEYS" $secrets.masterKeys "OTEL_EXPORTER_OTLP_HEADERS" $secrets.otlpHeaders -}}
{{- if eq .component "gateway" -}}
{{- $read = dict "MONGODB_URI" $secrets.mongodbGatewayUri -}}
{{- else if not (include "utility-tools.confined" .) -}}
{{- $read = set $read "MONGODB_URI" $secrets.mongodbUri -}}
{{- end -}}
{{- if eq .component "api" -}}
{{- $read = merge $read (dict "SMTP_URL" $secrets.smtpUrl "STRIPE_SECRET_KEY" $secrets.stripeSecretKey "STRIPE_WEBHOOK_SECRET" $secrets.stripeWebhookSecret) -}}
{{- end -}}
{{- range $variable, $reference := $read }}
{{- if $reference.name }}
{{ $variable }}: {{ toJson $reference }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Variables that say how a component connects to Temporal: directly, or through the gateway. */}}
{{- define "utility-tools.temporal" -}}
{{- $tls := .root.Values.temporal.tls -}}
{{- $confined := include "utility-tools.confined" . -}}
TEMPORAL_NAMESPACE: {{ .root.Values.temporal.namespace | quote }}
{{- if $confined }}
{{- /* The variable in which Kubernetes gives pods the address of the Service. */}}
{{- $host := printf "$(%s_GATEWAY_SERVICE_HOST)" (include "utility-tools.name" .root | upper | replace "-" "_") }}
GATEWAY_URL: http://{{ $host }}:3128
TEMPORAL_ADDRESS: {{ $host }}:7233
TEMPORAL_TLS_SERVER_NAME: gateway
{{- else }}
TEMPORAL_ADDRESS: {{ .root.Values.temporal.address | quote }}
{{- with $tls.serverName }}
TEMPORAL_TLS_SERVER_NAME: {{ . | quote }}
{{- end }}
{{- end }}
{{- if or $confined $tls.serverCa.name }}
TEMPORAL_TLS_SERVER_CA_CERT_PATH: /certificates/ca.crt
{{- end }}
{{- if or $confined $tls.clientSecret }}
TEMPORAL_TLS_CLIENT_CERT_PATH: /certificates/tls.crt
TEMPORAL_TLS_CLIENT_KEY_PATH: /certificates/tls.key
{{- end }}
{{- end }}

{{- /* Volume with the certificates of these variables; none without TLS. */}}
{{- define "utility-tools.certificates" -}}
{{- $tls := .root.Values.temporal.tls -}}
{{- if include "utility-tools.confined" . }}
- name: certificates
  secret: { secretName: {{ get .root.Values.gateway.certificates .component }}, defaultMode: 0440 }
{{- else if or $tls.clientSecret $tls.serverCa.name }}
- name: certificates
  projected:
    defaultMode: 0440
    sources:
      {{- with $tls.clientSecret }}
      - secret:
          name: {{ . }}
          items: [{ key: tls.crt, path: tls.crt }, { key: tls.key, path: tls.key }]
      {{- end }}
      {{- with $tls.serverCa }}
      {{- if .name }}
      - secret:
          name: {{ .name }}
          items: [{ key: {{ .key }}, path: ca.crt }]
      {{- end }}
      {{- end }}
{{- end }}
{{- end }}

{{- /* Environment of a component; values override the chart's own entries. */}}
{{- define "utility-tools.env" -}}
{{- $values := .root.Values -}}
{{- $env := fromYaml (include "utility-tools.temporal" .) -}}
{{- if eq .component "api" -}}
{{- $env = merge $env (dict "PUBLIC_URL" $values.publicUrl "TEMPORAL_UI_URL" $values.temporal.uiUrl) -}}
{{- else if and (eq .component "orchestrator") $values.workerVersioning.enabled -}}
{{- $env = set $env "BUILD_ID" ($values.workerVersioning.buildId | default (include "utility-tools.tag" .root)) -}}
{{- else if eq .component "gateway" -}}
{{- $env = merge $env (dict "GATEWAY_PORT" "3128" "GATEWAY_TEMPORAL_PORT" "7233" "GATEWAY_CERTIFICATES" "/gateway") -}}
{{- else if include "utility-tools.confined" . -}}
{{- /* Set here, because the variables of Services with such names would replace them. */ -}}
{{- $env = merge $env (dict "INTERNAL_PORT" "9090" "SDK_METRICS_PORT" "0" "GATEWAY_PORT" "3128" "GATEWAY_TEMPORAL_PORT" "7233") -}}
{{- end -}}
{{- range $variable, $_ := fromYaml (include "utility-tools.secrets" .) -}}
{{- $env = set $env (printf "%s_FILE" $variable) (printf "/run/secrets/%s" (lower $variable)) -}}
{{- end -}}
{{- $egress := ternary (dict) $values.env.egress (has .component (list "orchestrator" "test")) -}}
{{- $env = mergeOverwrite $env $values.env.all $egress (get $values.env .component | default dict) -}}
{{- range $variable, $value := $env }}
- name: {{ $variable }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- /* Security context of the containers; confined pools create namespaces, which the profile "restricted" forbids. */}}
{{- define "utility-tools.securityContext" -}}
allowPrivilegeEscalation: false
capabilities: { drop: [ALL] }
readOnlyRootFilesystem: true
{{- if include "utility-tools.confined" . }}
seccompProfile: { type: Unconfined }
{{- if .root.Values.sandbox.appArmorUnconfined }}
appArmorProfile: { type: Unconfined }
{{- end }}
{{- if .root.Values.sandbox.unmaskedProc }}
procMount: Unmasked
{{- end }}
{{- else }}
seccompProfile: { type: RuntimeDefault }
{{- end }}
{{- end }}

{{- define "utility-tools.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
{{- end }}

{{- define "utility-tools.secretVolume" -}}
- name: secrets
  projected:
    defaultMode: 0440
    sources:
      {{- range $variable, $reference := fromYaml (include "utility-tools.secrets" .) }}
      - secret:
          name: {{ $reference.name }}
          items: [{ key: {{ $reference.key }}, path: {{ lower $variable }} }]
      {{- end }}
{{- end }}

{{- /* Returns "true" for components with an autoscaler, whose Deployments set no number of replicas. */}}
{{- define "utility-tools.autoscaled" -}}
{{- if eq .component "api" -}}
{{ if .root.Values.autoscaling.enabled }}true{{ end }}
{{- else -}}
{{ if and .root.Values.keda.enabled (hasKey .root.Values.keda.pools .component) }}true{{ end }}
{{- end -}}
{{- end }}

{{- /* Rule of a policy for the addresses of a database. Argument: its ports, and peers as `to`. */}}
{{- define "utility-tools.peers" -}}
- ports:
    {{- range .ports }}
    - port: {{ . }}
    {{- end }}
  {{- with .to }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
