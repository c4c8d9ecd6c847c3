import { article, document, type OverlayPage } from './overlayPages.ts';

/** Typical texts of a consent banner and a newsletter box in one language. */
interface OverlayTexts {
  consent: string;
  accept: string;
  decline: string;
  newsletter: string;
  address: string;
  subscribe: string;
}

export const LANGUAGES: Readonly<Record<string, OverlayTexts>> = {
  en: {
    consent: 'We use cookies.',
    accept: 'OK',
    decline: 'No thanks',
    newsletter: 'Subscribe to our newsletter',
    address: 'Your address',
    subscribe: 'Subscribe',
  },
  de: {
    consent: 'Diese Website verwendet Cookies, um Inhalte und Anzeigen zu personalisieren.',
    accept: 'Alle zulassen',
    decline: 'Nur notwendige Cookies',
    newsletter: 'Newsletter abonnieren und 10 % sparen',
    address: 'Ihre Adresse',
    subscribe: 'Anmelden',
  },
  fr: {
    consent: 'En poursuivant votre navigation, vous acceptez le dépôt de cookies.',
    accept: 'J’accepte',
    decline: 'Continuer sans accepter',
    newsletter: 'Inscrivez-vous à notre lettre d’information',
    address: 'Votre adresse',
    subscribe: 'Je m’inscris',
  },
  es: {
    consent: 'Usamos cookies para mejorar tu experiencia en nuestro sitio.',
    accept: 'Aceptar todas',
    decline: 'Rechazar todas',
    newsletter: 'Suscríbete a nuestro boletín',
    address: 'Tu correo',
    subscribe: 'Suscribirme',
  },
  it: {
    consent: 'Utilizziamo i cookie per migliorare la tua esperienza.',
    accept: 'Accetta tutti',
    decline: 'Continua senza accettare',
    newsletter: 'Iscriviti alla newsletter',
    address: 'Il tuo indirizzo',
    subscribe: 'Iscriviti',
  },
  pt: {
    consent: 'Este site utiliza cookies para melhorar a sua experiência.',
    accept: 'Aceitar todos',
    decline: 'Rejeitar',
    newsletter: 'Subscreva a nossa newsletter',
    address: 'O seu endereço',
    subscribe: 'Subscrever',
  },
  nl: {
    consent: 'Deze website maakt gebruik van cookies.',
    accept: 'Ik ga akkoord',
    decline: 'Alleen noodzakelijke',
    newsletter: 'Meld u aan voor de nieuwsbrief',
    address: 'Uw adres',
    subscribe: 'Aanmelden',
  },
  pl: {
    consent: 'Ta strona używa plików cookie w celu poprawy jakości.',
    accept: 'Akceptuję',
    decline: 'Odrzuć',
    newsletter: 'Zapisz się do newslettera',
    address: 'Twój adres',
    subscribe: 'Zapisz się',
  },
  cs: {
    consent: 'Tento web používá soubory cookie.',
    accept: 'Souhlasím',
    decline: 'Odmítnout',
    newsletter: 'Přihlaste se k odběru novinek',
    address: 'Vaše adresa',
    subscribe: 'Odebírat',
  },
  sk: {
    consent: 'Táto stránka používa súbory cookie na zlepšenie služieb.',
    accept: 'Prijať všetko',
    decline: 'Odmietnuť',
    newsletter: 'Odoberajte naše novinky',
    address: 'Vaša adresa',
    subscribe: 'Odoberať',
  },
  hu: {
    consent: 'Ez a weboldal sütiket használ a jobb élményért.',
    accept: 'Elfogadom',
    decline: 'Elutasítom',
    newsletter: 'Iratkozzon fel hírlevelünkre',
    address: 'Az Ön címe',
    subscribe: 'Feliratkozom',
  },
  ro: {
    consent: 'Acest site folosește module cookie.',
    accept: 'Sunt de acord',
    decline: 'Refuz',
    newsletter: 'Abonează-te la newsletter',
    address: 'Adresa ta',
    subscribe: 'Mă abonez',
  },
  hr: {
    consent: 'Ova stranica koristi kolačiće kako bi poboljšala vaše iskustvo.',
    accept: 'Prihvaćam',
    decline: 'Odbijam',
    newsletter: 'Prijavite se na naš bilten',
    address: 'Vaša adresa',
    subscribe: 'Pretplati me',
  },
  sv: {
    consent: 'Vi använder kakor (cookies) på webbplatsen.',
    accept: 'Godkänn alla',
    decline: 'Avvisa',
    newsletter: 'Prenumerera på vårt nyhetsbrev',
    address: 'Din adress',
    subscribe: 'Prenumerera',
  },
  da: {
    consent: 'Vi bruger cookies på hjemmesiden.',
    accept: 'Tillad alle',
    decline: 'Afvis',
    newsletter: 'Tilmeld dig vores nyhedsbrev',
    address: 'Din adresse',
    subscribe: 'Tilmeld',
  },
  no: {
    consent: 'Vi bruker informasjonskapsler på nettstedet.',
    accept: 'Godta alle',
    decline: 'Avslå',
    newsletter: 'Meld deg på nyhetsbrevet vårt',
    address: 'Din adresse',
    subscribe: 'Meld på',
  },
  fi: {
    consent: 'Käytämme evästeitä sivustollamme.',
    accept: 'Hyväksy kaikki',
    decline: 'Hylkää',
    newsletter: 'Tilaa uutiskirjeemme',
    address: 'Osoitteesi',
    subscribe: 'Tilaa',
  },
  tr: {
    consent: 'Bu sitede çerezler kullanılmaktadır.',
    accept: 'Tümünü kabul et',
    decline: 'Reddet',
    newsletter: 'Bültenimize abone olun',
    address: 'E-posta',
    subscribe: 'Abone ol',
  },
  ru: {
    consent: 'Мы используем файлы cookie для улучшения сайта.',
    accept: 'Принять',
    decline: 'Отклонить',
    newsletter: 'Подпишитесь на рассылку и получите скидку 10%',
    address: 'Ваша почта',
    subscribe: 'Подписаться',
  },
  uk: {
    consent: 'Ми використовуємо файли cookie.',
    accept: 'Прийняти всі',
    decline: 'Відхилити',
    newsletter: 'Підпишіться на нашу розсилку',
    address: 'Ваша пошта',
    subscribe: 'Підписатися',
  },
  bg: {
    consent: 'Този уебсайт използва бисквитки.',
    accept: 'Приемам',
    decline: 'Отказвам',
    newsletter: 'Абонирайте се за нашия бюлетин',
    address: 'Вашият адрес',
    subscribe: 'Абонирай ме',
  },
  el: {
    consent: 'Χρησιμοποιούμε cookies για τη βελτίωση του ιστότοπου.',
    accept: 'ΑΠΟΔΟΧΗ',
    decline: 'Απόρριψη',
    newsletter: 'Εγγραφείτε στο ενημερωτικό δελτίο μας',
    address: 'Η διεύθυνσή σας',
    subscribe: 'Εγγραφή',
  },
  ja: {
    consent: '当サイトではクッキーを使用しています。',
    accept: '同意する',
    decline: '拒否する',
    newsletter: 'メールマガジンに登録',
    address: 'メールアドレス',
    subscribe: '登録',
  },
  'zh-Hans': {
    consent: '本网站使用Cookie来改善您的体验。',
    accept: '接受',
    decline: '拒绝',
    newsletter: '订阅我们的时事通讯',
    address: '电子邮箱',
    subscribe: '订阅',
  },
  'zh-Hant': {
    consent: '本網站使用 Cookie 以提供更好的瀏覽體驗。',
    accept: '全部接受',
    decline: '拒絕',
    newsletter: '訂閱電子報',
    address: '電子郵件',
    subscribe: '訂閱',
  },
  ko: {
    consent: '이 웹사이트는 쿠키를 사용합니다.',
    accept: '동의',
    decline: '거부',
    newsletter: '뉴스레터를 구독하세요',
    address: '이메일 주소',
    subscribe: '구독하기',
  },
  ar: {
    consent: 'نستخدم ملفات تعريف الارتباط على موقعنا.',
    accept: 'قبول الكل',
    decline: 'رفض',
    newsletter: 'اشترك في نشرتنا الإخبارية',
    address: 'البريد الإلكتروني',
    subscribe: 'اشترك',
  },
  he: {
    consent: 'אתר זה משתמש בעוגיות.',
    accept: 'אישור',
    decline: 'דחייה',
    newsletter: 'הירשמו לניוזלטר שלנו',
    address: 'הכתובת שלך',
    subscribe: 'הרשמה',
  },
  th: {
    consent: 'เว็บไซต์นี้ใช้คุกกี้',
    accept: 'ยอมรับ',
    decline: 'ปฏิเสธ',
    newsletter: 'สมัครรับจดหมายข่าวของเรา',
    address: 'ที่อยู่ของคุณ',
    subscribe: 'สมัคร',
  },
  vi: {
    consent: 'Trang web này sử dụng cookie.',
    accept: 'Chấp nhận',
    decline: 'Từ chối',
    newsletter: 'Đăng ký nhận bản tin',
    address: 'Địa chỉ của bạn',
    subscribe: 'Đăng ký',
  },
  id: {
    consent: 'Situs ini menggunakan cookie untuk meningkatkan pengalaman Anda.',
    accept: 'Terima semua',
    decline: 'Tolak',
    newsletter: 'Berlangganan buletin kami',
    address: 'Alamat Anda',
    subscribe: 'Langganan',
  },
  ca: {
    consent: 'Utilitzem galetes pròpies i de tercers.',
    accept: 'Accepto',
    decline: 'Rebutjo',
    newsletter: 'Subscriu-te al nostre butlletí',
    address: 'La teva adreça',
    subscribe: 'Subscriu-m’hi',
  },
  et: {
    consent: 'See veebileht kasutab küpsiseid.',
    accept: 'Nõustun',
    decline: 'Keeldun',
    newsletter: 'Liitu meie uudiskirjaga',
    address: 'Sinu aadress',
    subscribe: 'Liitu',
  },
  lt: {
    consent: 'Šioje svetainėje naudojami slapukai.',
    accept: 'Sutinku',
    decline: 'Atmesti',
    newsletter: 'Prenumeruokite mūsų naujienlaiškį',
    address: 'Jūsų adresas',
    subscribe: 'Prenumeruoti',
  },
  lv: {
    consent: 'Šī vietne izmanto sīkdatnes.',
    accept: 'Piekrītu',
    decline: 'Noraidīt',
    newsletter: 'Piesakies jaunumiem',
    address: 'Tava adrese',
    subscribe: 'Pieteikties',
  },
  sl: {
    consent: 'Spletno mesto uporablja piškotke.',
    accept: 'Strinjam se',
    decline: 'Zavrni',
    newsletter: 'Naročite se na e-novice',
    address: 'Vaš naslov',
    subscribe: 'Naroči',
  },
  sr: {
    consent: 'Овај сајт користи колачиће.',
    accept: 'Прихватам',
    decline: 'Одбијам',
    newsletter: 'Претплатите се на наш билтен',
    address: 'Ваша адреса',
    subscribe: 'Претплати ме',
  },
  is: {
    consent: 'Þessi vefur notar vafrakökur.',
    accept: 'Samþykkja',
    decline: 'Hafna',
    newsletter: 'Skráðu þig á fréttabréfið okkar',
    address: 'Netfangið þitt',
    subscribe: 'Skrá mig',
  },
  hi: {
    consent: 'हम आपके अनुभव को बेहतर बनाने के लिए कुकीज़ का उपयोग करते हैं।',
    accept: 'स्वीकार करें',
    decline: 'अस्वीकार करें',
    newsletter: 'हमारे न्यूज़लेटर की सदस्यता लें',
    address: 'आपका पता',
    subscribe: 'सदस्यता लें',
  },
  fa: {
    consent: 'این وب‌سایت از کوکی‌ها استفاده می‌کند.',
    accept: 'می‌پذیرم',
    decline: 'رد کردن',
    newsletter: 'در خبرنامه ما عضو شوید',
    address: 'نشانی شما',
    subscribe: 'عضویت',
  },
};

const STYLE = `.v{position:fixed;inset:0;background:#000;opacity:.5;z-index:8}
  .n{position:fixed;top:20%;left:50%;margin-left:-220px;width:400px;background:#fff;padding:20px;z-index:9}
  .c{position:fixed;bottom:0;left:0;right:0;background:#222;color:#fff;padding:12px;z-index:7}
  .k{position:fixed;right:16px;top:90px;width:260px;background:#eee;padding:12px;z-index:7}
  .n b{float:right;cursor:pointer}`;

/**
 * For each language, a page with two consent banners, of which one can only be accepted, and a newsletter box with a
 * close button "✕".
 */
export const LANGUAGE_PAGES: readonly OverlayPage[] = Object.entries(LANGUAGES).map(([language, texts]) => ({
  name: `in ${language}`,
  html: document(
    language,
    STYLE,
    `${article()}
    <div class="c">${texts.consent} <button>${texts.accept}</button> <button>${texts.decline}</button></div>
    <div class="k"><p>${texts.consent}</p><a href="#">${texts.accept}</a></div>
    <div class="v"></div>
    <div class="n"><b>✕</b><h2>${texts.newsletter}</h2><input placeholder="${texts.address}"><button>${texts.subscribe}</button></div>`,
  ),
  gone: ['.c', '.k', '.v', '.n'],
}));
