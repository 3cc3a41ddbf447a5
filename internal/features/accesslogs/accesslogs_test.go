package accesslogs

import "testing"

func TestFormats(t *testing.T) {
	t.Parallel()
	for format, good := range map[string]bool{
		"": true, "plain": true, "%REQ(:METHOD)% %PATH(NQ)% %RESPONSE_CODE%": true, "%DURATION%%%": true,
		"%CEL(request.path)%": true, "%START_TIME(%s.%3f)%": true, "%PATH(WQ:ORIG)%": true, "%TRAILER(x-a)%": true,
		"%ENVIRONMENT(HOME)%": false, "%FILE_CONTENT(/etc/passwd)%": false, "%NO_SUCH%": false, "100%%DURATION%": false,
		"%DURATION": false, "%RESPONSE_CODE_DETAILS:99%": false, "%TRAILER(a?b)%": true, "%TRAILER(a?b?c)%": false,
		"%START_TIME(%Y-%m-%dT%E*SZ)%": true, "%START_TIME(%n)%": false, "%START_TIME(\n)%": false,
		"%PATH(XX)%": false, "a\nb": false, "%DURATION(1)%": false,
	} {
		if err := checkFormat(format); (err == nil) != good {
			t.Errorf("%q: %v", format, err)
		}
	}
}

func TestFlags(t *testing.T) {
	t.Parallel()
	if wrong := checkFlags([]string{"UH", "NR", "DC"}); wrong != "" {
		t.Errorf("%s is refused", wrong)
	}
	if wrong := checkFlags([]string{"UH", "XX"}); wrong != "XX" {
		t.Errorf("refused %q, want XX", wrong)
	}
}
