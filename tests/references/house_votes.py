"""Votes of the House of Representatives, 1984: 435 members, 16 votes, 392 of them missing.

The rows are HouseVotes84 of the R package mlbench (from the UCI repository): party (d, r), then 16 votes (n, y, ? for
NA). The probabilities are those of e1071's naiveBayes(Class ~ ., HouseVotes84, laplace = 0 or 3) in R 4.2.2, by
predict(model, HouseVotes84, type = "raw").
"""

from __future__ import annotations

import numpy as np

ROWS = """
    rnynyyynnny?yyyny rnynyyynnnnnyyyn? d?yy?yynnnnynyynn dnyyn?ynnnnynynny dyyynyynnnny?yyyy dnyynyynnnnnnyyyy
    dnynyyynnnnnn?yyy rnynyyynnnnnnyy?y rnynyyynnnnnyyyny dyyynnnyyynnnnn?? rnynyynnnnn??yynn rnynyyynnnny?yy??
    dnyynnnyyynnnyn?? dyyynnyyy?yy?nny? rnynyyynnnnny??n? rnynyyynnnynyy?n? dynynnyny?yyy?nny dy?ynnnyyynnnynyy
    rnynyyynnnnn?yynn dyyynnnyyynynnnyy dyyynn?yynnynnnyy dyyynnnyyynnn??yy dy?ynnnyyynn?nnyy dyyynnnyyynnnnnyy
    dynynnnyyynnnnny? dynynnnyyyynnnnyy dynynnnyyynynnnyy dyyynnnyyynynnnyy rynnyynyyynnyyyny dyyynnnyyynynnnyy
    rnynyyynnnnnyyynn dyyynnnyyynynnny? dyyynnnyyyynnynyy rnynyyynnnnnyyyny dyyynnnyyynnnnnyy rnynyyynnnnnyyynn
    ry?nyyynnnyny?yny ryynyyynnnnnnyyny rnynyyynnnynyyynn dynynnnyyyyynynyy dyyynnnyyyn?nnnn? dyyynnnyyynnnnny?
    dynynnnyyynnnnnny dynynnnyyynnnnnyy dyyynnnyyynynnnn? dyyynnnyy?nynnny? dyyynnnyyynnnnnny dynynnnyy?nnnnnn?
    dyyynnnyynnnnnyny rn?nyyynnnnnyyynn dyyynnnyyynynnnyy rnynyyyn?nnnyyyny dyyynnnyyynnnnn?? ryynyyynnnynyyynn
    dyyynny?ynnyynyn? rnynyyynnnyyyyynn rnynyyynnnyyyyyny rnynyyynnnynyyyny rnynyyynnnynyyyny rnynyyynnnynyyyn?
    dyyynn?yyyynnnny? rnynyyynnnnnyyynn dyyynnnyyynnnnnn? dyyynnnyyynynnnny dyyynnnyyyny?nnny ryynyyyynnnnyyyny
    rnynyyyynnnyyyyny rnynyyynnnynyyynn dy?ynnnyyynnnynyy dyyynnnyyynnnnnyy dynynnnyyynnnyny? ryyyynnyyyyynnyny
    dyyynnnyyynynnny? rynyyynynyynnyyny dynynnyyyyyynnyyy dnyyyyynnnyynyynn dnyynyynnnyyyyyn? dnyyyyynyyyyyyyny
    dyyynyynnnyynyyny rnnnyynnnnynyyynn dynynnyyyyynynyn? dynynnnyy?yyynyny rnnnyyynnnynyyyny rnnnyyynnnnnyyynn
    rn?nyyynnnynyyynn dnnynyynnnyyyyyny rnnnyyynnnynyyynn rnnnyyynnnnnyyynn dnyynyyynyyynyyny rnnnyyynnnyn?yyn?
    dynynnnyyyynnnnyy dynynnnyyyyynnnyy dyyynnnyynyynn?yy dynynnnynyyynnnyy dynynyynnnnnnnnny dynynyyn??ny???yy
    dnn?nyynnnnyyyyny dynnnyyynnyynnyny dyyynnyyyyynnnnny rnnnyyynnny?yyynn dynnnyynnnnyynyny dynynyyynnnynnyny
    dynynyyyn?nynyyy? dynnnyy?n?nnnny?n d????nyyyyy?nyyn? dyyynnnnyynynnnyy rnynyyynnnnnyyyny rn????????????y??
    dy?ynnnyyynnnnny? dy?ynnnyyynnnnny? dnnynnnyyyynnnnyy rn?nyyynnnynyyyny dn?ynnyyynynnnny? rn?nyyynnnynyyynn
    dy?ynnnyyynnnnny? dn?yn??yyyy??nnyy dynynnnyyynynnnyy ryyyyynynnnnyyyny dnyynnnnyyyynnnyy rnnnyyynnnnnyyynn
    rn??yyynnnynyyy?y rn?nyyynnnynyyyny rnnnyyynnnynynyny ry?nyyynynnnyyyny dn?ynnnyyynnnnnyy rn?nyyynnnynyyyny
    rn?nyyynnnnnyyynn dn?ynnnyyyyynnyyy dn?ynnynynyynnnyy d??ynnnyy?n?????? dy?yn??yyynnnnny? dnnynnynyyynnnyny
    rnnnyyynnnynyyyn? rnnnyyynnnynyyyny rnnnyyynnnnnyyyn? rnnnyyynnnynyyynn rnynyyynnnyyyynny dn?ynnyyyyynnnyyy
    dnnynnyyyyynnnyny dynynnyyyynnnnnyy rnnnynnyyyynnyyny rnnnyyyyyyynyyy?y rnnnyyyyyyynyyyny d?ynnnnyyyyynnyyy
    dn?nnnyyyyynnnyn? dnnynnyyyyynnny?y rnynyyynnnnnyyyny dnnnnnnyyyynyyyyy rnynyyynnnyyyyyny dnnynnnyyyynnynyy
    ryynyyynnnynyyyny dyy?yyynnyny?yynn dnyynnynyyyynynyy dnnynnyyyyyynyyny rnynyyynnnnnyyynn ryynyyyn?nnyyyynn
    ryynyyyynnnnyyynn dnyynnynyynyn???? rnynyyynnnynyyynn dnyyn?yyyyyynn?n? dnynnyynnnnnyyyyy dnnnnyyynnnnyyyny
    dnyynyyynnnyyyyny rnynyyyynnnnyyyny dyynnyynnnyyyyyn? dnyynnyyyyyynyny? rynyyyyyynynynyyy rynyyyyyynyyynyyy
    dnnyyyynnynnnyyy? dynynnnyyyyynnyny dynynnn?yy?nnnny? rn?nyyynnnynyyyny dnyynnnyyyynn?nyy dnnnnyynnnyyyyyny
    dy?ynnnyyynnnnny? dnyynnnyyyynnnnyy rnnyynnyyyynnnyyy dnnynnnyyyyy?nnyy d?nynnnyyyyy?nny? dynynnnyyyynnnnyy
    d??ynnnyyy??nnn?? dnnynnnyyyyynnnyy dy?ynnnyyynnnnnyy d????????y??????? dnnynnnyyyyynnnyy dynynnnyyyyn?nnyy
    dnyynnnyyyyynnnyy dynynnnyyynnnnny? ry?nyyyyynnny?y?? dynynnnyyynnnnnyy rn?nyyynnnnnyyyn? rnynyyyn?nynyyyn?
    dnnnnnyyyynynnyyy dnnynnnyyynnnnnyy dnnynnyy?yyynnnyy rnnnyyynnnnnyyyn? dnnynnyyyynyynyy? rn?yyyynnnynnnyny
    dnnynnnyyyyyn?ny? dyynnnnyy?nynnny? dnnynnnyyynnnnyyy dyyynnnyyynnnnnyy dynynnyyyyyynnnyy dynynnnyyyynnnnyy
    rnnyyyyynnnnyyyny dnnynnyyyyynynnny rnnnyyynnnynynyny ry?nyyyynnynyyyny dnnynnnyyynn?nnyy dyyynnnyyyyynnnny
    dnnynnyyyynnnnnyy rnynyyynnnynyyyny dnnynnnyyynynnnyy dnyynnynyynynynyy ryynyyynnnynyyyny dnyyyyynnnyyyyyy?
    dyyynyynn?ynnnyy? rnynyyynnnynyyynn dy?ynnnyyyn?nnny? dnyynnnnyynynnyyy dnnynnnyyynnnnny? dnyynyynnnnynnny?
    dynynnnyyynynnny? rnnnyynnnnnnyyyny rnynyyynnnyn?yynn rn?nyyynnnnnyyyny dnnynnyyyynynnyyy dynynnnyyynnnnn?y
    rnynyyynnnnnyy?ny rnyyyyyynyynyyyny rnynyyynnnnnyyyny rnynyyynnyynyyyny dnyynnnyynnynnny? rnynyyynnnynyyyny
    dnnynnyyyyynynyy? rnnnyyynnnynynyny dnnynnnyyynnnnnyy dynynnyyynnnyynny dyyynnnyy?ynnnny? rnnnyyyynnynnnyyy
    rnnnynyy?ynnyyyny dynynnnyyyyynnyyy rnnnnyyynnnn?nyyy dnyynnnyy?ynnynyy dynynnnnyyynnnnyy dynynnnyyyyynnnyy
    dnnynynyyynnnny?y rnynyyy?nnnn?yynn r???????????????? dynynnnyy?nynnnyy rnynyyynnnnnyyynn rnynyyynnnnnyyynn
    dyyynnyyyynnnnnyy rnynyyynnnnnyyyny dynynnnyyyynnnnny dynynnnyyyynnnyyy rnnnyynnnnnnynynn rnnnyynnnnnnyny?y
    dnnynnnyyynynnnyy dynynnnyyynnnnnny dynynnnyyyynnnnny dynynn?yyyn??n??? dynynnnyyyynn?nyy dynynnnyyynnnnny?
    dynynnnyyynnnnny? dynynnnyyyynnnnny rnnnyyynnnynynyny rynnnnnyyyynnnyny dynynnnyyynnnnny? dynynnnyyynnnnnny
    dyyynnnyyynnnnnyy dnyynnyyyyn?nnnny dynynnnyyyynnnny? rnnnyynyynynyyy?y rynnyynynnynnnyyy dnnynyynnnn?nyynn
    rnnnyyynnnnnyyyyn rnnyyyyyynynnnyny rnnnyyynnnnnyyyny rnnnyyynnnynyyynn dnnynnnyyyynnnyny rynyyyyyynnnnnyn?
    rynnyyynnnyn?yynn rnnnyyynnnnnyyyny dnnynnyyyyyynnn?y dnnynnyyyyyynnnyy dnnynny?y?yyynyy? dyyy?nyyyynynyn?y
    dyyynyynynyynyyyy dyyynyynynyynyyn? dynyn?y?yyynnyyny dynynnyyyyyn?nyny dynynnyyynyynyyyy dyyynnyyyyyynyyyy
    dnyynnyyynyynyyn? rnynyyy??nyny???? rnnyyyynnnynyyyyy dyyynnyyyyynn?ny? dnynnnnyyyyynnnyy dnyynnyyyyynnyyyy
    rnnnyynyyyynyyyny dnn?nnyyyynnnnnyy rnnnyyyynnynyyyny rnnnyyynnnnnyyynn rnynyyynnnynyyyn? rnnnyyynnnynyyynn
    rnnnyyynnnnnyyynn dynynnyyyynnnnyn? rnnnyyynnnynyyynn dynnnnyyyyynnnyyy rnnnyyynnnynyyyyn dnnynnyyyyynnynny
    dyyynnnyyyynnnnyy rnyyyyynnnynyyyny rnynyyyyynnyyyyyy rnyyyyyy?nnnn??y? dnnnnnynyynyyyyyn dynnnnnyyyynnnnyy
    dnnynnnyyynnnnny? dynynnnyyynnnnny? dnyynnynyyynnyyny dyyynnnyyyynnynny dyyyn?yn?nnynyyn? dyyynyyny?ynnyyn?
    rnynyyynnnnyyyynn dnynnyynn?nnyyyny dyynynnyyynynnyny rnynyyynnnnnyyyny dyyynnnyyynynnnny dy?ynnyyyyynnnny?
    rnynyyynnnynyyynn dy?ynnnyyynnnnny? dynynnnyyynynnny? dnnynnnyyynnnnnyy dnyynnyyy?nyynnyy rnnnyyynnnyyyyyn?
    dnnynnyyynnynny?y dynynnnyyynnnnnyy dynynnnyyyynnnyyy rynnyyynnnnyyyynn rnnnyyynnnyyynyny dn?y?nyyyyyyn??yy
    dnyyny?ynnyynynyy rnnnyynynyynnnyny dnnynnnyyyyynnnyy rnnnyyyynnynynyyy rnnnyyynnnynyyyny rynnyyynnnynyyynn
    dynynnnyyyynynny? rnyyyyyyyynnyyyny dnynnnyynynynnnyy rnnyyyyyyyynyyyyy dnynynyyyynynyny? rnnyyyyynnyyyyyny
    dnyynnyyyyyn?nnyy rynyynnnyyynnnyyy rnnnyyynnnnnyyynn rnnnyyynnnnnyyynn dyyynnyyyyyyyyyn? rnnnyyynnny?yyyny
    dynynnyyyyynnynny dynynyyynyynnyyn? dyyynnyyyyyyyynny ryynyyynnnyynynnn ryynyyynnnnynyyny dnynnyynnnyynyynn
    dynynnnyynyynnnn? dyyynyyyynyynnny? dnyynnyyynynnnnyy rnynyyynnnnnnyyny dyyyn?yyyny??nnyy dyyyn?nyyyynnnny?
    dnyyyyynnnnyy?ynn dnyy?yynyny?nyy?y rnynyyynnnnnyyyny dnynyyynnnnyynynn dy?ynnnyyynynnnyy rnynyyy??nn??y???
    rnnnyyynnnnnyyyny rnnnyyynnnnnyyyny dyyynny?yynynynyy dyyynyyyyyyynyyn? dyynyyynnnnynyyn? dyyynyynyyyynnnny
    dyyyyyynnnnyyyyny dyynnyynnnnyyyyyn dn?ynyynynnynnnn? dyyynyynyynynnyn? dnyyyyynnnnnyyyn? dynynnnyyy?ynnny?
    d??nn?y?nnnyynyn? dyynnnnnyynynnnyn ryynyyynnnnyyyyny r????nynyynnyynn? dyy???ynnnnynynny dyyy?nnnynny?nnyy
    dyyynyynynnynynyy dyynny?nnnnynyyny dnyynyynynnnnnnny rnyny?ynnnynyyynn rnynyyyn?nn???yn? rnynyyynnnyyyyynn
    r?nyynyyyyynynyny rnynyyynnnyny?ynn ryynyyynnnynyyyny rnnnyyynnnnnyyyny dynynyynnyynnyyny dnnnyyynnnnyyyynn
    dynynnyyyynny?yyy rnnnyyynnnnnyyynn rnnnyyynnnnyyyyny dynynnyyyyyynnnny rnnnyyynnnynyyyny ryyyyyyyyny???yny
    dyyynnnyyynnnnnny dnyynnyyy?ynnnnny ryynyyynnnynnyyny dyyynnnyyyyynynny dyyynnnyynynnnnny dyyynnnyyynnnnnny
    ryyyyyyyynynnyyny dnyynyyyynnynynyy dnnynnyyyynynnnyy dnyynnyyyynynnyyy dnyynn?yyyyyn?yyy dnnynnnyynyynnny?
    dynynnnyyyynnnnyy rnnnyyyyynynyyyny d???nnnyyyynnynyy dynyn?nyyyynyn?yy rnnyyyynnyynyyyny dnnynnnyyyynnnnny
    rn?nyyynnnnyyyyny rnnnyyy????nyyyny rnynyyynnnynyyy?n
""".split()  # noqa: SIM905

PARTIES = np.array([{"d": "democrat", "r": "republican"}[row[0]] for row in ROWS])
VOTES = np.array([[None if vote == "?" else vote for vote in row[1:]] for row in ROWS], dtype=object)

CORRECT = 393
"""Of 435, with either smoothing: an accuracy of .9034."""

EVERY_NINTH = slice(None, None, 9)
"""The rows whose probabilities stand below."""

DEMOCRAT_LAPLACE_0 = np.array([
    1.02920870860301e-07, 0.999999999949706, 6.64117984736097e-08, 0.99999999999926, 1.16170171685926e-06,
    0.999999999993072, 0.99994558044434, 0.999999999986803, 0.999999999998948, 0.999999529824058, 0.999999999993096,
    1.39650977903965e-08, 0.999999999992985, 0.0028852721395126, 1.11266019504545e-08, 7.9504623704336e-09,
    0.999943525194561, 0.999998276058974, 0.303911526796098, 5.91381966147181e-08, 0.999999999890932,
    0.999999999995113, 0.999999999950784, 4.17976925206972e-06, 0.99873358687171, 8.35460936644182e-08,
    0.999997563016282, 0.999999995359893, 0.999999999952105, 0.99999996680247, 0.999999999995021,
    7.9504623704336e-09, 0.999726408046695, 0.999999999509107, 1.12318285969384e-08, 0.484375396349313,
    7.4169487514022e-08, 0.999999999967694, 0.999975308794994, 0.27444422072975, 0.999999982047507,
    3.30589778654312e-06, 8.43362068238177e-08, 0.999986538270131, 0.999998017772857, 8.43362068238177e-08,
    0.999999999911211, 0.999999995400783, 5.62088755738232e-07,
])  # fmt: skip

DEMOCRAT_LAPLACE_3 = np.array([
    1.984209772998e-07, 0.999999999331487, 1.43107692581109e-07, 0.999999999986995, 2.03264819333957e-06,
    0.99999999989246, 0.999767755927797, 0.999999999807652, 0.999999999981601, 0.999997484061517, 0.99999999989266,
    3.21559468728436e-08, 0.999999999890364, 0.00338233024444936, 2.57613786645874e-08, 1.8598389676036e-08,
    0.999760596886434, 0.999991240324302, 0.162870176377132, 1.15780790272792e-07, 0.999999998621147,
    0.999999999923199, 0.999999999286719, 6.93918753510393e-06, 0.99573997056622, 1.61819601002147e-07,
    0.999987428267439, 0.999999948113886, 0.999999999349236, 0.999999817849025, 0.999999999921819,
    1.8598389676036e-08, 0.998986470924622, 0.99999999404528, 2.59938121502561e-08, 0.45988840932565,
    1.53506327926394e-07, 0.999999999531386, 0.999839095699659, 0.255277616099747, 0.999999824048176,
    5.33008851379886e-06, 1.63279627238962e-07, 0.999944443436642, 0.999985200912325, 1.63279627238962e-07,
    0.999999998843674, 0.999999967601754, 9.72798440360628e-07,
])  # fmt: skip
