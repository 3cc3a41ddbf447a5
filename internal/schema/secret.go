package schema

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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

func validateConfigMap(c *corev1.ConfigMap) field.ErrorList {
	var errs field.ErrorList
	data, binary := field.NewPath("data"), field.NewPath("binaryData")
	size := 0
	for k, v := range c.Data {
		errs = append(errs, validateKey(data, k)...)
		if _, ok := c.BinaryData[k]; ok {
			errs = append(errs, field.Duplicate(binary.Key(k), k))
		}
		size += len(v)
	}
	for k, v := range c.BinaryData {
		errs = append(errs, validateKey(binary, k)...)
		size += len(v)
	}
	return append(errs, validateSize(data, size)...)
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
