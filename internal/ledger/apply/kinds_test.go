package apply

import (
	"fmt"
	"strings"
	"testing"

	"cardea.dev/cardea/internal/core/ledger"
)

// manyKinds are objects that API servers complete in many ways: defaults, allocated values, keys of lists that nobody
// states, quantities and dates in another form.
const manyKinds = `
apiVersion: v1
kind: Namespace
metadata: {name: %s-made}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: %s}
spec: {selector: {app: web}, ports: [{name: http, port: 80}, {name: dns, port: 53, protocol: UDP, targetPort: dns}]}
---
apiVersion: v1
kind: Secret
metadata: {name: password, namespace: %s}
stringData: {word: hush}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: web, namespace: %s}
automountServiceAccountToken: false
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk, namespace: %s}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1024Mi}}}
---
apiVersion: v1
kind: LimitRange
metadata: {name: limits, namespace: %s}
spec: {limits: [{type: Container, default: {cpu: "0.5", memory: 1024Mi}}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: %s}
spec:
  replicas: 0
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}, creationTimestamp: null}
    spec:
      containers:
      - {name: db, image: "example.com/db:1", ports: [{containerPort: 53}, {containerPort: 53, protocol: UDP}],
         livenessProbe: {httpGet: {port: 8080}}, securityContext: {}, volumeMounts: [{name: tmp, mountPath: /tmp}]}
      volumes: [{name: tmp, emptyDir: {}}]
  volumeClaimTemplates:
  - metadata: {name: disk}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: "1Gi"}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly, namespace: %s}
spec:
  schedule: "0 3 * * *"
  suspend: true
  jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: "example.com/job:1"}]}}}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: %s}
spec:
  maxReplicas: 3
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 60}}}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: web, namespace: %s}
spec: {podSelector: {}, ingress: [{ports: [{port: 80}]}], egress: []}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: %s}
spec:
  rules:
  - host: a.example
    http: {paths: [{pathType: Prefix, path: /, backend: {service: {name: web, port: {number: 80}}}}]}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web, namespace: %s}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: web, namespace: %s}
roleRef: {kind: Role, name: web, apiGroup: rbac.authorization.k8s.io}
subjects: [{kind: ServiceAccount, name: web, namespace: %s}, {kind: User, name: alice}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: %s}
spec: {controllerName: example.com/%s}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: tls, namespace: %s}
spec:
  gatewayClassName: none
  listeners:
  - {name: https, port: 443, protocol: HTTPS, hostname: "*.example", tls: {certificateRefs: [{name: password}]}}
  - {name: tcp, port: 9000, protocol: TCP, allowedRoutes: {namespaces: {from: All}}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: rich, namespace: %s}
spec:
  parentRefs: [{name: tls}]
  rules:
  - matches: [{path: {value: /a}}, {headers: [{name: x, value: z}]}]
    filters: [{type: RequestHeaderModifier, requestHeaderModifier: {set: [{name: a, value: b}]}},
      {type: RequestRedirect, requestRedirect: {hostname: b.example}}]
  - {timeouts: {request: 60s}, backendRefs: [{name: web, port: 80, weight: 2}, {name: web, port: 53}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GRPCRoute
metadata: {name: grpc, namespace: %s}
spec: {parentRefs: [{name: tls}], rules: [{matches: [{method: {service: a.B}}], backendRefs: [{name: web, port: 80}]}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: BackendTLSPolicy
metadata: {name: web, namespace: %s}
spec:
  targetRefs: [{group: "", kind: Service, name: web}]
  validation: {hostname: web.example, wellKnownCACertificates: System}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: grant, namespace: %s}
spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: a}], to: [{group: "", kind: Service}]}
`

// TestWhatIsThereIsNotWritten: an object that is due again though nothing differs, as after a crash, is left as it is;
// and none differs by itself.
func TestWhatIsThereIsNotWritten(t *testing.T) {
	s := newStage(t)
	s.run()
	texts := strings.Split(manyKinds, "---")
	s.put(texts...)
	versions := map[ledger.Key]string{}
	var due []ledger.Observation
	for _, text := range texts {
		k := s.edit(text).Key
		s.synced(k)
		o := s.live(k)
		versions[k] = o.GetResourceVersion()
		due = append(due, ledger.Observation{Object: o.GetAnnotations()[ledger.ObjectAnnotation], UID: string(o.GetUID()),
			Generation: 1, Correct: true})
		head, err := s.Head(t.Context())
		s.must(err)
		want, err := annotateContent(ledger.Object{Key: k, Content: s.edit(text).Content,
			ID: o.GetAnnotations()[ledger.ObjectAnnotation], Generation: 1, Revision: 1, Change: 1,
			Author: o.GetAnnotations()[ledger.AuthorAnnotation], Message: o.GetAnnotations()[ledger.MessageAnnotation]},
			head.Epoch)
		s.must(err)
		// What is stated as stringData is kept as data: that can't be compared.
		if got := hasContent(o, want, exactKind(groupKind(k))); got == (k.Kind == "Secret") {
			t.Errorf("%s: that it need not be sent again is %v", k, got)
		}
	}
	s.must(s.Observe(t.Context(), clusterName, due))
	s.eventually(func() error {
		if n := s.counted("cardea_ledger_applied_total", "unchanged"); n < float64(len(texts)) {
			return fmt.Errorf("%v unchanged", n)
		}
		return nil
	})
	for k := range versions {
		s.synced(k)
	}
	// Controllers write to the status of some.
	if n := s.counted("cardea_ledger_applied_total", "changed"); n != 0 {
		t.Errorf("%v objects were written again", n)
	}
	if n := s.counted("cardea_ledger_drift_total", ""); n != 0 {
		t.Errorf("%v times drift", n)
	}
	s.cluster.Client.CoreV1().Namespaces().Delete(t.Context(), s.namespace+"-made", deleteNow)
}
