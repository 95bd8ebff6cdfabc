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

{{- define "kithdb.clusterEnvironment" -}}
- name: POD_NAME
  valueFrom:
    fieldRef: {fieldPath: metadata.name}
- name: KITHDB_CLUSTER
  value: {{ required "cluster.servers is needed: the URLs of the log servers" .Values.cluster.servers | quote }}
- name: KITHDB_CLUSTER_NAME
  value: {{ .Values.cluster.name | quote }}
- name: KITHDB_CLUSTER_LISTEN
  value: "0.0.0.0:6364"
- name: KITHDB_CLUSTER_ADVERTISE
  value: "$(POD_NAME).{{ include "kithdb.name" . }}-headless.{{ .Release.Namespace }}.svc:6364"
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
