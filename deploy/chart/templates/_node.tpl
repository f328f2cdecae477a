{{/* Labels of the nodes with a role. Needs a dict of `root` and `role`. */}}
{{- define "mneme.labels" -}}
app.kubernetes.io/name: mneme
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .role }}
{{- end -}}

{{/* The nodes with a role. Needs a dict of `root`, `role`, `setting` (MNEME_ROLE) and `values` (of the role). */}}
{{- define "mneme.nodes" -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ .root.Release.Name }}-{{ .role }}
  labels: {{- include "mneme.labels" . | nindent 4 }}
spec:
  serviceName: {{ .root.Release.Name }}-{{ .role }}
  replicas: {{ .values.replicas }}
  podManagementPolicy: Parallel
  selector:
    matchLabels: {{- include "mneme.labels" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "mneme.labels" . | nindent 8 }}
    spec:
      # the drain, 10 s for the last requests, 20 s for closing the stores
      terminationGracePeriodSeconds: {{ add .root.Values.drainSeconds 35 }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        fsGroup: 10001
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "mneme.labels" . | nindent 14 }}
      containers:
        - name: mneme
          image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag }}"
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          env:
            - name: MNEME_STORE
              valueFrom: { secretKeyRef: { name: {{ .root.Values.existingSecret }}, key: store } }
            - name: MNEME_ADMIN_KEY
              valueFrom: { secretKeyRef: { name: {{ .root.Values.existingSecret }}, key: adminKey } }
            - { name: MNEME_ROLE, value: {{ .setting | quote }} }
            - { name: MNEME_INDEX_MEMORY_MAX, value: {{ .values.indexMemoryMax | quote }} }
            - { name: MNEME_DRAIN, value: {{ .root.Values.drainSeconds | quote }} }
            {{- range $name, $value := .root.Values.environment }}
            - { name: {{ $name }}, value: {{ $value | quote }} }
            {{- end }}
          ports:
            - { name: http, containerPort: 8383 }
          startupProbe:
            httpGet: { path: /health, port: http }
            periodSeconds: 2
            failureThreshold: 150
          livenessProbe:
            httpGet: { path: /health, port: http }
            periodSeconds: 10
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /ready, port: http }
            periodSeconds: 2
            failureThreshold: 2
          securityContext:
            allowPrivilegeEscalation: false
            capabilities: { drop: [ALL] }
          resources: {{- toYaml .values.resources | nindent 12 }}
          volumeMounts:
            - { name: data, mountPath: /var/lib/mneme }
  volumeClaimTemplates:
    - metadata: { name: data }
      spec:
        accessModes: [ReadWriteOnce]
        {{- with .root.Values.storage.className }}
        storageClassName: {{ . }}
        {{- end }}
        resources: { requests: { storage: {{ .root.Values.storage.size }} } }
{{- end -}}
