package servers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"cardea.dev/cardea/internal/epp/score"
)

// bytesPerToken is what a token of a text is taken to have, to compare blocks of a cache with blocks of a prompt.
const bytesPerToken = 4

// noMetricsError is why a server that answers tells nothing of its load. It serves, as far as is known.
type noMetricsError string

func (s noMetricsError) Error() string { return string(s) }

// pageReader reads pages of metrics.
type pageReader struct {
	names       Names
	metricNames map[string]bool
}

func newPageReader(names Names) *pageReader {
	r := &pageReader{names: names, metricNames: map[string]bool{}}
	for _, list := range names {
		for _, m := range list {
			r.metricNames[m.Name] = true
		}
	}
	return r
}

// readPage returns what a page says. Values that make no sense (NaN, below 0) do not count.
func (r *pageReader) readPage(page io.Reader) (score.State, error) {
	families, err := r.parseFamilies(page)
	if err != nil {
		return score.State{}, err
	}
	s := score.State{}
	var queue, running, cache, size float64
	for field, to := range map[Field]*float64{Queue: &queue, Running: &running, KVCache: &cache, BlockSize: &size} {
		if v, found := r.fieldValue(families, field); found {
			*to = v
			s.Known = s.Known || field != BlockSize
		}
	}
	if !s.Known {
		return s, noMetricsError("it has no metric of a known model server; name its metrics with --metric")
	}
	s.Waiting, s.Running, s.KVCache = clampInt(queue), clampInt(running), min(1, cache)
	s.BlockBytes = min(clampInt(size), 1<<20) * bytesPerToken
	r.readAdapters(families, &s)
	return s, nil
}

// parseFamilies parses the lines of the metrics that are wanted. A page of vLLM has hundreds of others, which would
// take most of the time.
func (r *pageReader) parseFamilies(page io.Reader) (map[string]*dto.MetricFamily, error) {
	var kept bytes.Buffer
	lines := bufio.NewScanner(page)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Bytes()
		end := bytes.IndexAny(line, "{ \t")
		if len(line) == 0 || line[0] == '#' || end < 0 || !r.metricNames[string(line[:end])] {
			continue
		}
		kept.Write(line)
		kept.WriteByte('\n')
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, noMetricsError("read its metrics: " + err.Error())
	case err != nil:
		return nil, fmt.Errorf("read its metrics: %w", err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&kept)
	if err != nil {
		return nil, noMetricsError("read its metrics: " + err.Error())
	}
	return families, nil
}

// fieldValue is the value of a field. A server with several engines has a series for each: they are added up, but of
// fractions and sizes the largest one counts.
func (r *pageReader) fieldValue(families map[string]*dto.MetricFamily, field Field) (value float64, found bool) {
	for _, m := range r.names[field] {
		for _, series := range families[m.Name].GetMetric() {
			v, ok := m.seriesValue(series)
			if !ok || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				continue
			}
			found = true
			if field == Queue || field == Running {
				value += v
			} else {
				value = max(value, v)
			}
		}
		if found {
			return value, true
		}
	}
	return 0, false
}

// seriesValue is the value of one series; ok is false if it is not the one that is meant.
func (m Metric) seriesValue(series *dto.Metric) (value float64, ok bool) {
	labels := labelsOf(series)
	for name, want := range m.Labels {
		if labels[name] != want {
			return 0, false
		}
	}
	if m.Value == "" {
		return series.GetUntyped().GetValue(), true // no line of a type is passed to the parser
	}
	value, err := strconv.ParseFloat(labels[m.Value], 64)
	return value, err == nil
}

func labelsOf(series *dto.Metric) map[string]string {
	labels := make(map[string]string, len(series.GetLabel()))
	for _, l := range series.GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	return labels
}

// readAdapters reads the labels of the newest series: the value of a series is the time when it was written.
func (r *pageReader) readAdapters(families map[string]*dto.MetricFamily, s *score.State) {
	for _, m := range r.names[Adapters] {
		newest := math.Inf(-1)
		for _, series := range families[m.Name].GetMetric() {
			at, ok := m.seriesValue(series)
			if !ok || !(at > newest) {
				continue
			}
			newest = at
			labels := labelsOf(series)
			n, err := strconv.Atoi(labels["max_lora"])
			if err != nil || n < 0 {
				n = 0
			}
			s.Adapters = n
			s.Loaded, s.Loading = splitList(labels["running_lora_adapters"]), splitList(labels["waiting_lora_adapters"])
		}
	}
}

func splitList(list string) (names []string) {
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

func clampInt(v float64) int { return int(min(v, 1e9)) }
