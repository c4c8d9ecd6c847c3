"""Writes an OpenDocument text document with odfpy to the path in the first argument."""

import sys
from odf.opendocument import OpenDocumentText
from odf.table import Table, TableCell, TableColumn, TableRow
from odf.text import H, List, ListItem, P
document = OpenDocumentText()
document.text.addElement(H(outlinelevel=1, text="Report"))
for number in range(12):
    document.text.addElement(P(text=f"{number}. " + "All is well, naïve façade and Ελληνικά. " * 12))
items = List()
for text in ("first", "second"):
    item = ListItem()
    item.addElement(P(text=text))
    items.addElement(item)
document.text.addElement(items)
table = Table(name="Figures")
table.addElement(TableColumn(numbercolumnsrepeated=2))
for number in range(5):
    row = TableRow()
    for text in (f"Item {number}", str(number * 7)):
        cell = TableCell()
        cell.addElement(P(text=text))
        row.addElement(cell)
    table.addElement(row)
document.text.addElement(table)
document.save(sys.argv[1])
