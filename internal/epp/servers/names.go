package servers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Field is what is read of a server.
type Field string

// The fields.
const (
	Queue     Field = "queue"      // requests that wait
	Running   Field = "running"    // requests that are worked on
	KVCache   Field = "kv-cache"   // the part of the KV cache in use, 0 to 1
	Adapters  Field = "lora"       // LoRA adapters, in labels
	BlockSize Field = "block-size" // tokens of a block of the cache; with a label's name, its value counts
)

// Metric is where a field is found.
type Metric struct {
	Name   string
	Labels map[string]string // that a series must have
	// Value is the label that has the value; "": the value of the series counts.
	Value string
}

// Names says in which metrics a field may be. The first one that a server has counts.
type Names map[Field][]Metric

// DefaultNames are the metrics of known servers, as the Gateway API Inference Extension lists them in its model server
// protocol (proposal 003-model-server-protocol of https://github.com/kubernetes-sigs/gateway-api-inference-extension),
// and those of llama.cpp (tools/server of https://github.com/ggml-org/llama.cpp).
func DefaultNames() Names {
	with := func(name, label, value string) Metric {
		return Metric{Name: name, Labels: map[string]string{label: value}}
	}
	return Names{
		Queue: {
			{Name: "vllm:num_requests_waiting"}, {Name: "sglang:num_queue_reqs"},
			with("nv_trt_llm_request_metrics", "request_type", "waiting"), {Name: "trtllm_num_requests_waiting"},
			{Name: "llamacpp:requests_deferred"},
		},
		Running: {
			{Name: "vllm:num_requests_running"}, {Name: "sglang:num_running_reqs"},
			with("nv_trt_llm_request_metrics", "request_type", "scheduled"), {Name: "trtllm_num_requests_running"},
			{Name: "llamacpp:requests_processing"},
		},
		KVCache: {
			{Name: "vllm:kv_cache_usage_perc"}, {Name: "vllm:gpu_cache_usage_perc"}, {Name: "sglang:token_usage"},
			with("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "fraction"),
			{Name: "trtllm_kv_cache_utilization"}, {Name: "llamacpp:kv_cache_usage_ratio"}, // until 2025
		},
		Adapters: {{Name: "vllm:lora_requests_info"}},
		BlockSize: {
			{Name: "vllm:cache_config_info", Value: "block_size"}, {Name: "sglang:cache_config_info", Value: "page_size"},
			with("nv_trt_llm_kv_cache_block_metrics", "kv_cache_block_type", "tokens_per"),
			{Name: "trtllm_kv_cache_tokens_per_block"},
		},
	}
}

// Set reads `FIELD=NAME` or `FIELD=NAME{label="value",...}` and has the field found there only.
func (n Names) Set(text string) error {
	field, metric, found := strings.Cut(text, "=")
	if _, known := n[Field(field)]; !found || !known || metric == "" {
		return fmt.Errorf(`%q: want FIELD=NAME or FIELD=NAME{label="value"}; fields are %s`, text,
			strings.Join(fieldNames(n), ", "))
	}
	name, labels, braces := strings.Cut(metric, "{")
	m := Metric{Name: name}
	if braces {
		inner, closed := strings.CutSuffix(labels, "}")
		if !closed || name == "" {
			return fmt.Errorf(`%q: the labels don't end with "}"`, text)
		}
		m.Labels = map[string]string{}
		for pair := range strings.SplitSeq(inner, ",") {
			label, value, found := strings.Cut(pair, "=")
			if !found {
				return fmt.Errorf("%q: %q is no label with a value", text, pair)
			}
			m.Labels[strings.TrimSpace(label)] = strings.Trim(strings.TrimSpace(value), `"`)
		}
	}
	n[Field(field)] = []Metric{m}
	return nil
}

func fieldNames(n Names) (names []string) {
	for _, f := range slices.Sorted(maps.Keys(n)) {
		names = append(names, string(f))
	}
	return names
}
