// Shows every moment of the page in the viewer's time zone; without this script they stay in UTC.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
// The Swedish form of a date is that of ISO 8601, which is what the page has without this script.
const format = new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short' });

for (const element of document.querySelectorAll('time[datetime]')) {
  element.title = element.dateTime;
  element.textContent = format.format(new Date(element.dateTime));
}

const zone = document.getElementById('zone');
if (zone !== null) zone.textContent = `Times are in ${timeZone}.`;
