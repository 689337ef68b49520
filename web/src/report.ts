// The scripts of a report: its figures, and its runs again. They share one file, and so the plotting library.

import "./figures";
import "./living";
