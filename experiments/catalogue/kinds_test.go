package catalogue

import _ "github.com/weft-sim/weft/experiments/kinds" // tests read experiment files
