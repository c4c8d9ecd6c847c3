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

{{- /* `<VARIABLE>: <reference>` of the secrets that a component reads. */}}
{{- define "utility-tools.secrets" -}}
{{- $secrets := .root.Values.secrets -}}
{{- $read := dict "MASTER_KEYS" $secrets.masterKeys "MONGODB_URI" $secrets.mongodbUri "OTEL_EXPORTER_OTLP_HEADERS" $secrets.otlpHeaders -}}
{{- if eq .component "api" -}}
{{- $read = merge $read (dict "SMTP_URL" $secrets.smtpUrl "STRIPE_SECRET_KEY" $secrets.stripeSecretKey "STRIPE_WEBHOOK_SECRET" $secrets.stripeWebhookSecret) -}}
{{- end -}}
{{- range $variable, $reference := $read }}
{{- if $reference.name }}
{{ $variable }}: {{ toJson $reference }}
{{- end }}
{{- end }}
{{- end }}

{{- /* Environment of a component; values override the chart's own entries. */}}
{{- define "utility-tools.env" -}}
{{- $values := .root.Values -}}
{{- $env := dict "TEMPORAL_ADDRESS" $values.temporal.address "TEMPORAL_NAMESPACE" $values.temporal.namespace -}}
{{- if eq .component "api" -}}
{{- $env = merge $env (dict "PUBLIC_URL" $values.publicUrl "TEMPORAL_UI_URL" $values.temporal.uiUrl) -}}
{{- else if and (eq .component "orchestrator") $values.workerVersioning.enabled -}}
{{- $env = set $env "BUILD_ID" ($values.workerVersioning.buildId | default (include "utility-tools.tag" .root)) -}}
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

{{- /* Security context of the containers; browser and heavy create namespaces, which the profile "restricted" forbids. */}}
{{- define "utility-tools.securityContext" -}}
allowPrivilegeEscalation: false
capabilities: { drop: [ALL] }
readOnlyRootFilesystem: true
{{- if has .component (list "browser" "heavy") }}
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
