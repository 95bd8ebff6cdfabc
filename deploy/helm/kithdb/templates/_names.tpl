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
