# Writes a document with RTF::Writer to the path in the first argument.
use strict;
use warnings;
use RTF::Writer;
my $rtf = RTF::Writer->new_to_file($ARGV[0]);
$rtf->prolog(title => 'Report', fonts => ['Times New Roman', 'Courier New']);
$rtf->number_pages;
$rtf->paragraph(\'\fs40\b', 'Report');
$rtf->paragraph(\'\f0', "$_. ", 'All is well. ' x 40, [\'\i', 'slanted'], " na\xefve {braces} \\") for 1 .. 30;
my $columns = RTF::Writer::TableRowDecl->new(widths => [2000, 3000]);
$rtf->row($columns, "Item $_", 7 * $_) for 1 .. 5;
$rtf->close;
