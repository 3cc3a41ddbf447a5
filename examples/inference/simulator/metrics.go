package simulator

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// metrics tells the load by vLLM's names.
func (s *Server) metrics(w http.ResponseWriter, _ *http.Request) {
	l := &s.load
	l.mu.Lock()
	defer l.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	model := fmt.Sprintf("model_name=%q", s.set.Model)
	gauge := func(name, labels string, value any) {
		fmt.Fprintf(w, "# TYPE %s gauge\n%s{%s} %v\n", name, name, labels, value)
	}
	counter := func(name string, value any) {
		fmt.Fprintf(w, "# TYPE %s counter\n%s{%s} %v\n", name, name, model, value)
	}
	gauge("vllm:num_requests_waiting", model, l.waiting)
	gauge("vllm:num_requests_running", model, l.running)
	gauge("vllm:kv_cache_usage_perc", model, min(1, float64(l.blocks)/float64(s.set.CacheBlocks)))
	gauge("vllm:cache_config_info",
		fmt.Sprintf("block_size=\"%d\",num_gpu_blocks=\"%d\"", s.set.BlockTokens, s.set.CacheBlocks), 1)
	counter("vllm:prefix_cache_queries_total", l.prompt)
	counter("vllm:prefix_cache_hits_total", l.cached)
	counter("vllm:request_success_total", l.requests)
	if len(s.set.Adapters) > 0 {
		gauge("vllm:lora_requests_info", fmt.Sprintf("max_lora=\"%d\",running_lora_adapters=%q,waiting_lora_adapters=%q",
			s.set.MaxAdapters, strings.Join(l.loaded, ","), strings.Join(slices.Sorted(maps.Keys(l.wanted)), ",")), unix())
	}
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	list := []any{}
	for _, name := range append([]string{s.set.Model}, s.set.Adapters...) {
		list = append(list, map[string]any{"id": name, "object": "model"})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": list}) // fails if the client is gone
}
