package e2e

import (
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"cardea.dev/cardea/internal/ops/explain"
)

// TestExplainFollowsAnEdit: the story of a request tells the rule that is live, when it was acknowledged and by how
// many proxies, and the story of the route the stages of its last edit.
func TestExplainFollowsAnEdit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := Start(t, dir)
	text := strings.ReplaceAll(oneRoute, "${port}", fmt.Sprint(Backend(t, "app")))
	p.Write(t, "web.yaml", text)
	p.Ready(t)
	ask := "/explain?url=" + url.QueryEscape("http://any/old")
	var story explain.Story
	Eventually(t, func() error {
		if story = (explain.Story{}); p.Read(ask, &story) != nil || len(story.Rules) != 1 ||
			!story.Rules[0].Live.Acknowledged {
			return fmt.Errorf("%+v", story)
		}
		return nil
	})
	live := story.Rules[0].Live
	if story.Outcomes[0].Backend != "XBackend default/app" || live.Proxies != 1 || live.Version != "1.40.0" ||
		live.Since == nil {
		t.Errorf("%+v, want app's backend, acknowledged by one proxy of 1.40.0", story)
	}

	p.Write(t, "web.yaml", strings.Replace(text, "rules: [{", "rules: [{matches: [{path: {value: /new}}], ", 1))
	Eventually(t, func() error {
		if story = (explain.Story{}); p.Read(ask, &story) != nil || len(story.Rules) != 0 || len(story.Near) != 1 ||
			story.Outcomes[0].Status != 404 {
			return fmt.Errorf("%+v", story)
		}
		return nil
	})
	if near := story.Near[0]; near.Why != "path /old is not below /new" || near.Where != "web.yaml:12" {
		t.Errorf("near: %+v", near)
	}
	var route explain.Object
	Eventually(t, func() error {
		if route = (explain.Object{}); p.Read("/explain/httproutes/default/web", &route) != nil ||
			route.Stages.Acknowledged == nil {
			return fmt.Errorf("%+v", route)
		}
		return nil
	})
	s := route.Stages
	if s.Edited == nil || s.Read == nil || s.Read.Before(s.Edited.Add(-time.Second)) || s.Sent == nil ||
		s.Sent.Before(*s.Read) ||
		s.Acknowledged.Before(*s.Sent) || !s.Sent.After(*live.Since) {
		t.Errorf("stages %+v, want edited, read, sent, acknowledged in this order, after %s", s, live.Since)
	}
	if b := route.Before; len(b) != 1 || b[0].Stages.Sent == nil || b[0].Stages.Acknowledged == nil ||
		b[0].Stages.Read.After(*b[0].Stages.Sent) ||
		b[0].Stages.Sent.After(*b[0].Stages.Acknowledged) || !b[0].Stages.Acknowledged.Equal(*live.Since) {
		t.Errorf("before %+v, want the first edit, acknowledged at %s", b, live.Since)
	}
	p.Write(t, "web.yaml", strings.Replace(text, "rules: [{", "rulez: [{", 1))
	Eventually(t, func() error {
		if broken := (explain.Object{}); p.Read("/explain/httproutes/default/web", &broken) != nil ||
			len(broken.Findings) == 0 ||
			!strings.HasSuffix(broken.Findings[0], "its last good version stays in use") {
			return fmt.Errorf("%+v, want to be told of the newest version", broken)
		}
		return nil
	})
	if len(route.Made) != 1 || route.Made[0].Type != "Routes" || !route.Made[0].Live.Acknowledged {
		t.Errorf("made %+v, want a part of a table", route.Made)
	}
}
