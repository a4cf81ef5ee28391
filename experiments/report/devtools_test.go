//go:build unix

package report

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weft-sim/weft/sim/simtest"
)

// browser is a headless Chromium, spoken to by the DevTools protocol through a pair of pipes.
type browser struct {
	t       *testing.T
	in      io.Writer
	out     *bufio.Reader
	session string
	last    int
	hung    atomic.Bool // ended for taking too long
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

// errGone: the browser's process has ended. What a page does can end its renderer,
// which the protocol tells of, but not the process.
var errGone = errors.New("the browser has gone")

// openBrowser starts Chromium with a page for the test. A browser that ends while it starts is started again: some do so now and then
// on machines with little memory. One that never starts skips the test.
func openBrowser(t *testing.T, page string, width int) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	simtest.FatalIf(t, err != nil, "needs chromium (Debian package chromium)")
	for range 5 {
		b, said := startBrowser(t, path)
		if err = b.show(page, width); err == nil {
			return b
		}
		t.Logf("%v: %s", err, said())
		simtest.FatalIf(t, b.hung.Load() || !errors.Is(err, errGone), "the page does not open")
	}
	t.Skip("the browser ends before it has opened a page, five times in a row")
	return nil
}

// startBrowser starts the process, in a group of its own that ends with the test. What
// the browser wrote as errors can be asked for.
func startBrowser(t *testing.T, path string) (b *browser, said func() string) {
	t.Helper()
	// Outside of t.TempDir: the browser's helpers write for a moment after its end.
	profile := simtest.Must(os.MkdirTemp("", "weft-report"))(t)
	command := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
		"--no-first-run", "--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	theirs, in, err := os.Pipe()
	simtest.Check(t, err)
	out, answers, err := os.Pipe()
	simtest.Check(t, err)
	problems := simtest.Must(os.Create(filepath.Join(profile, "errors.txt")))(t)
	command.Stderr = problems
	command.ExtraFiles = []*os.File{theirs, answers} // descriptors 3 and 4
	simtest.Check(t, command.Start())
	theirs.Close()
	answers.Close()
	problems.Close()
	end := func() { syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	// A browser that hangs ends with its pipe.
	b = &browser{t: t, in: in, out: bufio.NewReader(out)}
	watchdog := time.AfterFunc(2*time.Minute, func() {
		b.hung.Store(true)
		end()
	})
	t.Cleanup(func() {
		if watchdog.Stop() {
			end()
		}
		command.Wait()
		in.Close()
		out.Close()
		os.RemoveAll(profile)
	})
	said = func() string {
		text, _ := os.ReadFile(filepath.Join(profile, "errors.txt"))
		return string(text)
	}
	return b, said
}

// show opens a page, in a window of some width.
func (b *browser) show(name string, width int) error {
	var target struct{ TargetID string }
	if err := b.ask("Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var attached struct{ SessionID string }
	if err := b.ask("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.session = attached.SessionID
	for _, domain := range []string{"Page.enable", "Runtime.enable", "Inspector.enable"} {
		if err := b.ask(domain, nil, nil); err != nil {
			return err
		}
	}
	if err := b.ask("Emulation.setDeviceMetricsOverride", metrics(width), nil); err != nil {
		return err
	}
	if err := b.ask("Page.navigate", map[string]any{"url": "file://" + name}, nil); err != nil {
		return err
	}
	for {
		m, err := b.read()
		if err != nil {
			return err
		}
		if m.Method == "Page.loadEventFired" {
			break
		}
	}
	return b.ask("Runtime.evaluate", map[string]any{"expression": "new Promise(function (done) { requestAnimationFrame(function () { requestAnimationFrame(done); }); })", "awaitPromise": true}, nil)
}

// read is the next message.
func (b *browser) read() (message, error) {
	b.t.Helper()
	text, err := b.out.ReadBytes(0)
	if err != nil {
		return message{}, fmt.Errorf("%w: %v", errGone, err)
	}
	var m message
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		return message{}, err
	}
	switch m.Method {
	case "Runtime.exceptionThrown":
		b.t.Errorf("the page's script failed: %s", text)
	case "Inspector.targetCrashed":
		return message{}, errors.New("the page has crashed")
	}
	return m, nil
}

// ask sends a command and waits for its answer.
func (b *browser) ask(method string, params, result any) error {
	b.t.Helper()
	b.last++
	text, err := json.Marshal(message{ID: b.last, Method: method, Params: params, Target: b.session})
	if err != nil {
		return err
	}
	if _, err := b.in.Write(append(text, 0)); err != nil {
		return fmt.Errorf("%w: %v", errGone, err)
	}
	for {
		m, err := b.read()
		if err != nil {
			return err
		}
		if m.ID != b.last {
			continue
		}
		if m.Error != nil {
			return fmt.Errorf("%s: %s", method, m.Error.Message)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(m.Result, result)
	}
}

// call asks; an error ends the test. A browser that ends on its own says nothing of the
// page: the test is skipped.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	err := b.ask(method, params, result)
	if errors.Is(err, errGone) && !b.hung.Load() {
		b.t.Skip(err)
	}
	simtest.Check(b.t, err)
}

func (b *browser) window(width int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride", metrics(width), nil)
}

// metrics describes a window of some width.
func metrics(width int) map[string]any {
	return map[string]any{"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false}
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
	got := b.eval(expression)
	simtest.ErrorIf(b.t, fmt.Sprint(got) != fmt.Sprint(want), "%s: %v, want %v", expression, got, want)
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
	simtest.Check(b.t, err)
}
