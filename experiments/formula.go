package experiments

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-sim/weft/sim/param"
)

// formula is arithmetic over named values: + - * /, parentheses, numbers, min and
// max of two.
type formula struct {
	text string
	root ast.Expr
}

// parseFormula reads a formula in which only the given names may occur, each
// at least once.
func parseFormula(text string, names []string) (*formula, error) {
	root, err := parser.ParseExpr(text)
	if err != nil {
		return nil, fmt.Errorf("not a formula: want + - * /, parentheses, min(a, b) and max(a, b) over numbers and the names under of")
	}
	used := map[string]bool{}
	if err := checkFormula(root, names, used); err != nil {
		return nil, err
	}
	for _, name := range names {
		if !used[name] {
			return nil, fmt.Errorf("does not use %q, which is under of", name)
		}
	}
	return &formula{text, root}, nil
}

// parseFormulaOver reads a formula over some of the given names, and lists those.
func parseFormulaOver(text string, names []string) (*formula, []string, error) {
	root, err := parser.ParseExpr(text)
	if err != nil {
		return nil, nil, fmt.Errorf("not a formula: want + - * /, parentheses, min(a, b) and max(a, b) over numbers and columns")
	}
	used := map[string]bool{}
	if err := checkFormula(root, names, used); err != nil {
		return nil, nil, err
	}
	return &formula{text, root}, sortedKeys(used), nil
}

func checkFormula(e ast.Expr, names []string, used map[string]bool) error {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return checkFormula(x.X, names, used)
	case *ast.UnaryExpr:
		if x.Op == token.SUB {
			return checkFormula(x.X, names, used)
		}
	case *ast.BinaryExpr:
		switch x.Op {
		case token.ADD, token.SUB, token.MUL, token.QUO:
			if err := checkFormula(x.X, names, used); err != nil {
				return err
			}
			return checkFormula(x.Y, names, used)
		}
	case *ast.BasicLit:
		if x.Kind == token.INT || x.Kind == token.FLOAT {
			if _, err := strconv.ParseFloat(x.Value, 64); err == nil {
				return nil
			}
		}
	case *ast.CallExpr:
		if _, known := formulaFunction(x); known && len(x.Args) == 2 && !x.Ellipsis.IsValid() {
			if err := checkFormula(x.Args[0], names, used); err != nil {
				return err
			}
			return checkFormula(x.Args[1], names, used)
		}
	case *ast.Ident:
		if slices.Contains(names, x.Name) {
			used[x.Name] = true
			return nil
		}
		return fmt.Errorf("has the unknown name %q%s: there are %s", x.Name, param.DidYouMean(x.Name, names), strings.Join(names, ", "))
	}
	return fmt.Errorf("not a formula: want + - * /, parentheses, min(a, b) and max(a, b) over numbers and names")
}

// value computes the formula.
func (f *formula) value(of map[string]float64) float64 { return evaluate(f.root, of) }

// formulaFunction is the function that a call names.
func formulaFunction(call *ast.CallExpr) (f func(a, b float64) float64, ok bool) {
	name, _ := call.Fun.(*ast.Ident)
	switch {
	case name == nil:
	case name.Name == "min":
		return math.Min, true
	case name.Name == "max":
		return math.Max, true
	}
	return nil, false
}

func evaluate(e ast.Expr, of map[string]float64) float64 {
	switch x := e.(type) {
	case *ast.ParenExpr:
		return evaluate(x.X, of)
	case *ast.UnaryExpr:
		return -evaluate(x.X, of)
	case *ast.BasicLit:
		v, err := strconv.ParseFloat(x.Value, 64)
		if err != nil {
			return math.NaN()
		}
		return v
	case *ast.Ident:
		return of[x.Name]
	case *ast.CallExpr:
		if f, ok := formulaFunction(x); ok {
			return f(evaluate(x.Args[0], of), evaluate(x.Args[1], of))
		}
	case *ast.BinaryExpr:
		a, b := evaluate(x.X, of), evaluate(x.Y, of)
		switch x.Op {
		case token.ADD:
			return a + b
		case token.SUB:
			return a - b
		case token.MUL:
			return a * b
		case token.QUO:
			return a / b
		}
	}
	panic(fmt.Sprintf("experiments: formula with %T", e)) // checkFormula lets nothing else pass
}
