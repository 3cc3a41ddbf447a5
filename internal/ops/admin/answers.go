package admin

import (
	"encoding/json"
	"net/http"
)

// Status is the answer to a request that failed, in Kubernetes' form.
type Status struct {
	APIVersion string `json:"apiVersion"` // "v1"
	Kind       string `json:"kind"`       // "Status"
	Status     string `json:"status"`     // "Failure"
	Message    string `json:"message"`
	Code       int    `json:"code"`
}

func writeFailure(w http.ResponseWriter, code int, message string) {
	writeStatusJSON(w, code, Status{"v1", "Status", "Failure", message, code})
}

func writeJSON(w http.ResponseWriter, value any) { writeStatusJSON(w, http.StatusOK, value) }

func writeStatusJSON(w http.ResponseWriter, code int, value any) {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// A write fails only if the client has gone.
	_, _ = w.Write(append(text, '\n'))
}
