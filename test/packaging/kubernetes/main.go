// Reads manifests into the types of Kubernetes and of Prometheus's operator, without a field that those do not have, and holds
// their pods to the level "restricted" of Pod Security.
package main

import (
	"bytes"
	"fmt"
	"os"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

func main() {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	check(err)
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, file := range os.Args[1:] {
		text, err := os.ReadFile(file)
		check(err)
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			var about metav1.TypeMeta
			check(yaml.Unmarshal(document, &about))
			if about.Kind == "" {
				continue
			}
			object, pod := typed(about)
			if err := yaml.UnmarshalStrict(document, object); err != nil {
				fail("%s: %s: %v", file, about.Kind, err)
			}
			if pod == nil {
				continue
			}
			for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
				if !result.Allowed {
					fail("%s: %s: %s: %s", file, about.Kind, result.ForbiddenReason, result.ForbiddenDetail)
				}
			}
		}
	}
}

// The type of an object, and the template of its pods if it has one.
func typed(about metav1.TypeMeta) (any, *corev1.PodTemplateSpec) {
	switch about.APIVersion + " " + about.Kind {
	case "apps/v1 StatefulSet":
		set := &appsv1.StatefulSet{}
		return set, &set.Spec.Template
	case "apps/v1 Deployment":
		deployment := &appsv1.Deployment{}
		return deployment, &deployment.Spec.Template
	case "v1 Service":
		return &corev1.Service{}, nil
	case "v1 Secret":
		return &corev1.Secret{}, nil
	case "policy/v1 PodDisruptionBudget":
		return &policyv1.PodDisruptionBudget{}, nil
	case "networking.k8s.io/v1 NetworkPolicy":
		return &networkingv1.NetworkPolicy{}, nil
	case "monitoring.coreos.com/v1 ServiceMonitor":
		return &monitoringv1.ServiceMonitor{}, nil
	}
	fail("%s of %s has no type here", about.Kind, about.APIVersion)
	return nil, nil
}

func check(err error) {
	if err != nil {
		fail("%v", err)
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}
