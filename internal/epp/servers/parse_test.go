package servers

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cardea.dev/cardea/internal/epp/score"
)

const vllmPage = `# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="m"} 3.0
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="m"} 2.0
vllm:num_requests_waiting{engine="1",model_name="m"} 5.0
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="m"} 0.25
vllm:kv_cache_usage_perc{engine="1",model_name="m"} 0.5
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{le="0.001",model_name="m"} 0.0
vllm:time_to_first_token_seconds_bucket{le="+Inf",model_name="m"} 9.0
vllm:cache_config_info{block_size="16",num_gpu_blocks="1000"} 1.0
vllm:lora_requests_info{max_lora="4",running_lora_adapters="a, b",waiting_lora_adapters="c"} 1.7e9
vllm:lora_requests_info{max_lora="4",running_lora_adapters="a",waiting_lora_adapters=""} 1.6e9
`

func TestRead(t *testing.T) {
	custom := DefaultNames()
	for _, flag := range []string{`queue=my_requests{state="waiting", kind="chat"}`, "kv-cache=my_cache"} {
		if err := custom.Set(flag); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		page    string
		names   Names
		want    score.State
		mistake string
	}{
		"vLLM": {page: vllmPage, want: score.State{
			Known: true, Waiting: 7, Running: 3, KVCache: 0.5, Adapters: 4, Loaded: []string{"a", "b"},
			Loading: []string{"c"}, BlockBytes: 64,
		}},
		"an old vLLM": {
			page: "vllm:num_requests_waiting 1\nvllm:gpu_cache_usage_perc 0.1\n",
			want: score.State{Known: true, Waiting: 1, KVCache: 0.1},
		},
		"SGLang": {
			page: "sglang:num_queue_reqs{model_name=\"m\"} 4\nsglang:num_running_reqs 2\nsglang:token_usage 0.75\n" +
				"sglang:cache_config_info{page_size=\"32\",num_pages=\"9\"} 1\n",
			want: score.State{Known: true, Waiting: 4, Running: 2, KVCache: 0.75, BlockBytes: 128},
		},
		"Triton": {
			page: `nv_trt_llm_request_metrics{model="t",request_type="waiting",version="1"} 6
nv_trt_llm_request_metrics{model="t",request_type="scheduled",version="1"} 5
nv_trt_llm_request_metrics{model="t",request_type="max",version="1"} 512
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="fraction",model="t",version="1"} 0.3
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="max",model="t",version="1"} 6239
nv_trt_llm_kv_cache_block_metrics{kv_cache_block_type="tokens_per",model="t",version="1"} 64
`,
			want: score.State{Known: true, Waiting: 6, Running: 5, KVCache: 0.3, BlockBytes: 256},
		},
		"trtllm-serve": {
			page: "trtllm_num_requests_waiting 1\ntrtllm_num_requests_running 2\ntrtllm_kv_cache_utilization 0.5\n" +
				"trtllm_kv_cache_tokens_per_block 32\n",
			want: score.State{Known: true, Waiting: 1, Running: 2, KVCache: 0.5, BlockBytes: 128},
		},
		"llama.cpp": {
			page: "# TYPE llamacpp:requests_processing gauge\nllamacpp:requests_processing 2\n" +
				"llamacpp:requests_deferred 3\nllamacpp:kv_cache_usage_ratio 0.25\nllamacpp:n_decode_total 9\n",
			want: score.State{Known: true, Waiting: 3, Running: 2, KVCache: 0.25},
		},
		"llama.cpp that tells nothing of its cache": {
			page: "llamacpp:requests_processing 1\nllamacpp:requests_deferred 0\n",
			want: score.State{Known: true, Running: 1},
		},
		"names of flags": {
			names: custom,
			page: "my_requests{state=\"waiting\",kind=\"chat\"} 3\nmy_requests{state=\"waiting\",kind=\"batch\"} 9\n" +
				"my_cache 0.5\nvllm:num_requests_waiting 100\nvllm:num_requests_running 1\n",
			want: score.State{Known: true, Waiting: 3, Running: 1, KVCache: 0.5},
		},
		"values that make no sense": {
			page: "vllm:num_requests_waiting NaN\nvllm:num_requests_running -1\nvllm:kv_cache_usage_perc 40\n",
			want: score.State{Known: true, KVCache: 1},
		},
		"a huge queue":          {page: "vllm:num_requests_waiting 1e300\n", want: score.State{Known: true, Waiting: 1e9}},
		"no end of the line":    {page: "vllm:num_requests_waiting 3", want: score.State{Known: true, Waiting: 3}},
		"other metrics":         {page: "go_goroutines 3\n", mistake: "no metric of a known model server"},
		"nothing":               {mistake: "no metric of a known model server"},
		"only a size of blocks": {page: "trtllm_kv_cache_tokens_per_block 32\n", mistake: "no metric of a known"},
		"no number":             {page: "vllm:num_requests_waiting many\n", mistake: "read its metrics"},
		"an endless line":       {page: strings.Repeat("x", 2<<20), mistake: "read its metrics"},
	} {
		t.Run(name, func(t *testing.T) {
			names := c.names
			if names == nil {
				names = DefaultNames()
			}
			got, err := newPageReader(names).readPage(strings.NewReader(c.page))
			if c.mistake != "" {
				if err == nil || !strings.Contains(err.Error(), c.mistake) {
					t.Errorf("error %v, want %q", err, c.mistake)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

func TestSet(t *testing.T) {
	for _, c := range []struct{ text, mistake string }{
		{"queue", `"queue": want FIELD=NAME or FIELD=NAME{label="value"}; fields are block-size, kv-cache, lora, ` +
			"queue, running"},
		{"depth=x", `"depth=x": want FIELD=NAME`},
		{"queue=", `"queue=": want FIELD=NAME`},
		{"queue=x{a=1", `"queue=x{a=1": the labels don't end with "}"`},
		{"queue=x{a}", `"queue=x{a}": "a" is no label with a value`},
	} {
		if err := DefaultNames().Set(c.text); err == nil || !strings.HasPrefix(err.Error(), c.mistake) {
			t.Errorf("%s: %v, want %s", c.text, err, c.mistake)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(vllmPage)
	f.Add("vllm:num_requests_waiting{a=\"\\\"}\"} 3 17\n")
	f.Add("vllm:lora_requests_info{max_lora=\"-4\"} NaN\nvllm:num_requests_waiting +Inf\n")
	r := newPageReader(DefaultNames())
	f.Fuzz(func(t *testing.T, page string) {
		s, err := r.readPage(strings.NewReader(page))
		sane := s.Known && s.Waiting >= 0 && s.KVCache >= 0 && s.KVCache <= 1 && s.Adapters >= 0 && s.BlockBytes >= 0
		if err == nil && !sane {
			t.Errorf("%+v", s)
		}
	})
}

// BenchmarkRead reads a page of the size that vLLM's have.
func BenchmarkRead(b *testing.B) {
	const line = "vllm:time_to_first_token_seconds_bucket{le=\"0.001\",model_name=\"m\"} 0.0\n"
	page := vllmPage + strings.Repeat(line, 800)
	r := newPageReader(DefaultNames())
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		if _, err := r.readPage(strings.NewReader(page)); err != nil {
			b.Fatal(err)
		}
	}
}
