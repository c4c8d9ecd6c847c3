// Converts the times of the page to the viewer's time zone; without this script they are in UTC.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
// The Swedish locale formats dates as ISO 8601, like the server.
const formatOf = (timeStyle) => new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle });
const [toMinutes, toSeconds] = [formatOf('short'), formatOf('medium')];

const times = document.querySelectorAll('time[datetime]');
for (const element of times) {
  element.title = `${element.dateTime.slice(0, 19).replace('T', ' ')} UTC`;
  const format = element.dataset.seconds === undefined ? toMinutes : toSeconds;
  element.textContent = format.format(new Date(element.dateTime));
}

const zone = document.getElementById('zone');
if (zone !== null) zone.textContent = times.length > 0 ? `Times are in ${timeZone}.` : '';
