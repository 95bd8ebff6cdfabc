{{- define "kithdb.name" -}}
{{- if contains "kithdb" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-kithdb" .Release.Name | trunc 40 | trimSuffix "-" }}{{ end -}}
{{- end }}

{{- define "kithdb.selector" -}}
app.kubernetes.io/name: kithdb
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "kithdb.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{ include "kithdb.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "kithdb.image" -}}
{{ required "image.repository is needed: no image is published yet" .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "kithdb.secret" -}}
{{ .Values.auth.existingSecret | default (include "kithdb.name" .) }}
{{- end }}

{{- define "kithdb.tokenKey" -}}
{{- if .Values.auth.existingSecret }}{{ .Values.auth.accessTokenKey }}{{ else if or .Values.auth.accessToken (not .Values.auth.adminPassword) }}access-token{{ end -}}
{{- end }}

{{- define "kithdb.passwordKey" -}}
{{- if .Values.auth.existingSecret }}{{ .Values.auth.adminPasswordKey }}{{ else if .Values.auth.adminPassword }}admin-password{{ end -}}
{{- end }}

{{- define "kithdb.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "kithdb.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
fsGroup: 1000
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- /* Where auth.accessToken is given: its digest, a change of which starts the pod again. A password is read by a first start only. */}}
{{- define "kithdb.tokenChecksum" -}}
{{- if and .Values.auth.accessToken (not .Values.auth.existingSecret) }}{{ sha256sum .Values.auth.accessToken }}{{ end -}}
{{- end }}

{{- /* The variables that the chart makes of its own values. */}}
{{- define "kithdb.ownEnvironment" -}}
{{- if include "kithdb.tokenKey" . }}
- name: KITHDB_ACCESS_TOKEN_FILE
  value: /run/secrets/kithdb/{{ include "kithdb.tokenKey" . }}
- name: KITHDB_ACCESS_TOKEN_PERMISSION
  value: {{ .Values.auth.permission | quote }}
{{- end }}
{{- if include "kithdb.passwordKey" . }}
- name: KITHDB_ADMIN_PASSWORD_FILE
  value: /run/secrets/kithdb/{{ include "kithdb.passwordKey" . }}
{{- end }}
{{- if .Values.tls.secretName }}
- name: KITHDB_TLS_CERT
  value: /run/secrets/tls/tls.crt
- name: KITHDB_TLS_KEY
  value: /run/secrets/tls/tls.key
{{- end }}
{{- if .Values.cluster.enabled }}
{{- include "kithdb.clusterEnvironment" . }}
{{- end }}
{{- end }}

{{- /* The variables of values.settings: of the server, and of commands beside it, which have to use the same data directory. */}}
{{- define "kithdb.settings" -}}
{{- $settings := .Values.settings | default dict }}
{{- if and (not (kindIs "invalid" $settings.port)) (ne (int $settings.port) 6363) }}{{ fail "settings.port must be 6363 or absent: the container, its probes and the services use 6363; service.port is what clients connect to" }}{{ end }}
{{- if and $settings.cluster_listen (not (hasSuffix ":6364" (toString $settings.cluster_listen))) }}{{ fail "settings.cluster_listen must end with :6364, the port by which nodes reach one another" }}{{ end }}
{{- $own := include "kithdb.ownEnvironment" . }}
{{- range $name, $value := $settings }}
{{- if not (kindIs "invalid" $value) }}
{{- $variable := printf "KITHDB_%s" (upper $name) }}
{{- if contains (printf "name: %s\n" $variable) $own }}{{ fail (printf "settings.%s: the chart makes it of its other values already" $name) }}{{ end }}
- name: {{ $variable }}
  value: {{ include "kithdb.settingText" (list $name $value) | quote }}
{{- end }}
{{- end }}
{{- end }}

{{- /* The text of one setting: its name and its value. A list is separated by commas; that of models, of maps, is JSON. */}}
{{- define "kithdb.settingText" -}}
{{- $name := index . 0 }}
{{- $value := index . 1 }}
{{- if kindIs "float64" $value }}{{ int64 $value }}
{{- else if and (eq $name "models") (kindIs "slice" $value) }}{{ toJson $value }}
{{- else if kindIs "slice" $value }}
{{- range $value }}{{ if not (kindIs "string" .) }}{{ fail (printf "settings.%s must be a text or a list of texts" $name) }}{{ end }}{{ end }}
{{- join "," $value }}
{{- else if kindIs "map" $value }}{{ fail (printf "settings.%s must be a single value, and not a map" $name) }}
{{- else }}{{ $value }}{{ end -}}
{{- end }}

{{- define "kithdb.clusterEnvironment" }}
- name: POD_NAME
  valueFrom:
    fieldRef: {fieldPath: metadata.name}
- name: KITHDB_CLUSTER
  value: {{ required "cluster.servers is needed: the URLs of the log servers" .Values.cluster.servers | quote }}
- name: KITHDB_CLUSTER_NAME
  value: {{ .Values.cluster.name | quote }}
{{- $settings := .Values.settings | default dict }}
{{- if not $settings.cluster_listen }}
- name: KITHDB_CLUSTER_LISTEN
  value: "0.0.0.0:6364"
{{- end }}
{{- if not $settings.cluster_advertise }}
- name: KITHDB_CLUSTER_ADVERTISE
  value: "$(POD_NAME).{{ include "kithdb.name" . }}-headless.{{ .Release.Namespace }}.svc:6364"
{{- end }}
- name: KITHDB_CLUSTER_TLS_CERT
  value: /run/secrets/nodes/tls.crt
- name: KITHDB_CLUSTER_TLS_KEY
  value: /run/secrets/nodes/tls.key
- name: KITHDB_CLUSTER_TLS_CA
  value: /run/secrets/nodes/ca.crt
{{- with .Values.cluster.store }}
- name: KITHDB_CLUSTER_STORE
  value: {{ . | quote }}
{{- end }}
{{- with .Values.cluster.storeEndpoint }}
- name: KITHDB_CLUSTER_STORE_ENDPOINT
  value: {{ . | quote }}
{{- end }}
{{- with .Values.cluster.storeRegion }}
- name: KITHDB_CLUSTER_STORE_REGION
  value: {{ . | quote }}
{{- end }}
{{- with .Values.cluster.awsSecretName }}
- name: AWS_ACCESS_KEY_ID
  valueFrom:
    secretKeyRef: {name: {{ . | quote }}, key: access-key-id}
- name: AWS_SECRET_ACCESS_KEY
  valueFrom:
    secretKeyRef: {name: {{ . | quote }}, key: secret-access-key}
{{- end }}
{{- if .Values.cluster.natsCredentialsSecretName }}
- name: KITHDB_NATS_CREDENTIALS
  value: /run/secrets/nats/{{ .Values.cluster.natsCredentialsKey }}
{{- end }}
{{- if .Values.cluster.natsTlsSecretName }}
- name: KITHDB_NATS_TLS_CA
  value: /run/secrets/nats-tls/ca.crt
{{- end }}
{{- end }}
