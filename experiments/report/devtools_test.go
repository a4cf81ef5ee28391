package report

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// browser is a headless Chromium, spoken to by the DevTools protocol through a pair
// of pipes.
type browser struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	session string
	last    int
}

// message is one of the protocol.
type message struct {
	ID     int                       `json:"id,omitempty"`
	Method string                    `json:"method,omitempty"`
	Params any                       `json:"params,omitempty"`
	Target string                    `json:"sessionId,omitempty"`
	Result json.RawMessage           `json:"result,omitempty"`
	Error  *struct{ Message string } `json:"error,omitempty"`
}

// openBrowser starts Chromium for the test; make test-report asks for that.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	if os.Getenv("WEFT_TEST_REPORT") == "" {
		t.Skip("starts a browser: run by make test-report")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("needs chromium (Debian package chromium)")
	}
	// Outside of t.TempDir: the browser's helpers write for a moment after its end.
	profile, err := os.MkdirTemp("", "weft-report")
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
		"--no-first-run", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	theirs, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, answers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.ExtraFiles = []*os.File{theirs, answers} // descriptors 3 and 4
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	answers.Close()
	b := &browser{t: t, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		command.Process.Kill()
		command.Wait()
		in.Close()
		out.Close()
		os.RemoveAll(profile)
	})
	// A browser that hangs ends with its pipe.
	time.AfterFunc(2*time.Minute, func() { command.Process.Kill() })
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	b.call("Page.enable", nil, nil)
	b.call("Runtime.enable", nil, nil)
	return b
}

// read is the next message.
func (b *browser) read() message {
	b.t.Helper()
	text, err := b.out.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser has gone: %v", err)
	}
	var m message
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		b.t.Fatal(err)
	}
	if m.Method == "Runtime.exceptionThrown" {
		b.t.Errorf("the page's script failed: %s", text)
	}
	return m
}

// call sends a command and waits for its answer.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.last++
	text, err := json.Marshal(message{ID: b.last, Method: method, Params: params, Target: b.session})
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		b.t.Fatal(err)
	}
	for {
		m := b.read()
		if m.ID != b.last {
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		}
		if result != nil {
			if err := json.Unmarshal(m.Result, result); err != nil {
				b.t.Fatal(err)
			}
		}
		return
	}
}

// open shows a page, in a window of some width.
func (b *browser) open(name string, width int) {
	b.t.Helper()
	b.window(width)
	b.call("Page.navigate", map[string]any{"url": "file://" + name}, nil)
	for b.read().Method != "Page.loadEventFired" {
	}
	b.eval("new Promise(function (done) { requestAnimationFrame(function () { requestAnimationFrame(done); }); })")
}

func (b *browser) window(width int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}, nil)
}

// media is screen or print, in a colour scheme: light or dark.
func (b *browser) media(media, scheme string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": media, "features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// eval is the value of an expression in the page, as JSON puts it.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	var answer struct {
		Result           struct{ Value any }
		ExceptionDetails *struct{ Exception struct{ Description string } }
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if answer.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, answer.ExceptionDetails.Exception.Description)
	}
	return answer.Result.Value
}

// want compares the value of an expression.
func (b *browser) want(expression string, want any) {
	b.t.Helper()
	if got := b.eval(expression); fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Errorf("%s: %v, want %v", expression, got, want)
	}
}

// center scrolls to an element and says where its middle is.
func (b *browser) center(element string) (x, y float64) {
	b.t.Helper()
	at := b.eval(fmt.Sprintf("(function () { const e = %s; e.scrollIntoView({ block: 'center' }); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()", element)).([]any)
	return at[0].(float64), at[1].(float64)
}

// mouse does something at a place: mouseMoved, mousePressed, mouseReleased.
func (b *browser) mouse(what string, x, y float64) {
	b.t.Helper()
	button := "left"
	if what == "mouseMoved" {
		button = "none"
	}
	b.call("Input.dispatchMouseEvent", map[string]any{"type": what, "x": x, "y": y, "button": button, "clickCount": 1}, nil)
}

func (b *browser) click(element string) {
	b.t.Helper()
	x, y := b.center(element)
	b.mouse("mousePressed", x, y)
	b.mouse("mouseReleased", x, y)
}

// picture keeps a picture of the whole page in the folder that the environment
// variable WEFT_PICTURES names, for people to look at.
func (b *browser) picture(name string) {
	b.t.Helper()
	dir := os.Getenv("WEFT_PICTURES")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true, "format": "png"}, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), data, 0o666)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
