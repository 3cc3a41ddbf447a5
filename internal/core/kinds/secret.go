package kinds

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"cardea.dev/cardea/internal/core/input"
	"cardea.dev/cardea/internal/core/kind"
	"cardea.dev/cardea/internal/core/model"
)

func secretKind() *kind.Kind {
	k := kind.Kind{
		Kind: model.KindSecret, Plural: "secrets", Versions: []string{"v1"}, ReadScope: kind.OnDemand, Fades: true,
		Hidden:  []string{"data", "stringData"},
		Columns: []kind.Column{fieldColumn("TYPE", "type"), {Title: "DATA", CellText: countEntries("data")}},
	}
	k.Content = kind.BuiltInContent(kind.BuiltInKind[corev1.Secret, input.SecretSpec]{
		Install: corev1.AddToScheme, EditField: "data",
		ContentOf: func(s *corev1.Secret) *input.SecretSpec {
			return &input.SecretSpec{Type: s.Type, Data: s.Data}
		},
		Default: defaultSecret, Validate: validateSecret,
		Narrow: narrowSecret,
		Fingerprint: func(s *input.SecretSpec) kind.Marshaler {
			return &corev1.Secret{Type: s.Type, Data: s.Data}
		},
		Show: func(t metav1.TypeMeta, m metav1.ObjectMeta, s *input.SecretSpec) any {
			return corev1.Secret{TypeMeta: t, ObjectMeta: m, Type: s.Type, Data: s.Data}
		},
	})
	return &k
}

// narrowSecret keeps the entries that somebody asks for: what nobody reads, nobody should keep.
func narrowSecret(s *input.SecretSpec, keys kind.DataKeys) *input.SecretSpec {
	switch keys {
	case kind.AllKeys:
		return s
	case kind.PairKeys:
		kept := &input.SecretSpec{Type: s.Type, Data: map[string][]byte{}}
		for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			if value, is := s.Data[key]; is {
				kept.Data[key] = value
			}
		}
		return kept
	}
	return &input.SecretSpec{Type: s.Type}
}

func defaultSecret(s *corev1.Secret) {
	if s.Type == "" {
		s.Type = corev1.SecretTypeOpaque
	}
	if len(s.StringData) > 0 && s.Data == nil {
		s.Data = map[string][]byte{}
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
}

func validateSecret(s *corev1.Secret) field.ErrorList {
	var errs field.ErrorList
	data := field.NewPath("data")
	size := 0
	for k, v := range s.Data {
		errs = append(errs, validateKey(data, k)...)
		size += len(v)
	}
	errs = append(errs, validateSize(data, size)...)
	if s.Type == corev1.SecretTypeTLS {
		for _, k := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
			if _, ok := s.Data[k]; !ok {
				errs = append(errs, field.Required(data.Key(k), ""))
			}
		}
	}
	return errs
}

func validateKey(path *field.Path, key string) field.ErrorList {
	var errs field.ErrorList
	for _, m := range validation.IsConfigMapKey(key) {
		errs = append(errs, field.Invalid(path.Key(key), key, m))
	}
	return errs
}

func validateSize(path *field.Path, size int) field.ErrorList {
	if size > corev1.MaxSecretSize {
		return field.ErrorList{field.TooLong(path, "", corev1.MaxSecretSize)}
	}
	return nil
}
